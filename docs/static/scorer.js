// Task pages before the reference: what people type names a task more often than a class.
var Scorer = {
  score: ([page, , , , score]) => (page.startsWith("api/") || page.startsWith("_") ? score - 30 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
