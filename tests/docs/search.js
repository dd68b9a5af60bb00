// Print, for each query, the pages that the search of a built site finds: node search.js SITE QUERY ...
const fs = require("fs"), path = require("path"), vm = require("vm");
const [site, ...queries] = process.argv.slice(2);
const nothing = () => null;
const world = {
  document: { readyState: "loading", addEventListener: nothing, querySelector: nothing, getElementById: nothing },
  localStorage: { setItem: nothing },
  DOCUMENTATION_OPTIONS: {},
  SPHINX_HIGHLIGHT_ENABLED: false,
  _ready: nothing,
  _: (text) => text,
};
world.window = world;
vm.createContext(world);
const files = ["_static/language_data.js", "_static/searchtools.js", "searchindex.js"];
const code = files.map((name) => fs.readFileSync(path.join(site, name), "utf8")).join("\n");
vm.runInContext(code + "\nthis.search = Search;", world);
const found = queries.map((query) => {
  const results = world.search._performSearch(...world.search._parseQuery(query));
  return [...new Set(results.reverse().map((result) => result[0]))];
});
console.log(JSON.stringify(found));
