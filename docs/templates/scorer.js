// Task pages before the reference, whose text is found by the names of classes and functions only.
// An entry of the index stands for its whole page, which is listed once.
var Scorer = {
  score: (result) => {
    if (result[2].startsWith("#index-")) result[2] = "";
    const [page, , , descr, score] = result;
    if (page.startsWith("api/dplearn.theory")) return score - 60;
    return page.startsWith("_") || (page.startsWith("api/") && descr === null) ? score - 30 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
