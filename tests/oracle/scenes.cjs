// Answers one batch with Grafana's own code: `node scenes.cjs FOLDER < questions > answers`.
//
// FOLDER has the node_modules of package-lock.json. A question names one of the functions below in `ask`; whatever that
// function throws is its answer too, as "threw …".
"use strict";

const { createRequire, Module } = require("node:module");
const path = require("node:path");
const { readFileSync } = require("node:fs");

const fromFolder = createRequire(path.join(process.argv[2], "package.json"));

// Pictures and styles mean nothing here.
for (const ending of [".css", ".svg"]) {
  Module._extensions[ending] = (module) => {
    module.exports = "";
  };
}

// Debian's Node 18 cannot load some modules from here (colours, Markdown); nothing that is asked for draws anything.
const nothing = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : nothing),
  apply: () => nothing,
  construct: () => nothing,
});
const load = Module._load;
Module._load = (...request) => {
  try {
    return load(...request);
  } catch (error) {
    if (error.code !== "ERR_REQUIRE_ESM") {
      throw error;
    }
    return nothing;
  }
};

// Grafana's packages are written for a browser and look at it while they load.
const { JSDOM } = fromFolder("jsdom");
const { window } = new JSDOM("<!doctype html>", { url: "http://localhost/" });
window.matchMedia = () => ({ matches: false, addListener() {}, removeListener() {}, addEventListener() {} });
window.ResizeObserver = window.IntersectionObserver = class {
  observe() {}
  unobserve() {}
  disconnect() {}
};
// Node has these too, but jsdom takes its own alone.
const NODES_OWN = ["Event", "CustomEvent", "EventTarget"];
for (const name of Object.getOwnPropertyNames(window)) {
  if (!(name in globalThis) || NODES_OWN.includes(name)) {
    Object.defineProperty(globalThis, name, { configurable: true, writable: true, value: window[name] });
  }
}
globalThis.window = window;
Object.defineProperty(globalThis, "navigator", { configurable: true, value: window.navigator });

// Standard output carries the answers alone; that a format is not known is said there otherwise.
console.log = console.info = console.warn = console.error = () => {};

const { CustomVariable, EmbeddedScene, QueryVariable, SceneFlexLayout, SceneVariableSet, sceneGraph } =
  fromFolder("@grafana/scenes");
const { dateTime, rangeUtil } = fromFolder("@grafana/data");

function attempted(answer) {
  try {
    return answer();
  } catch (error) {
    return `threw ${error.name}`;
  }
}

// What a data source's own formatter is given: the format "handed" is this, and none of Grafana's.
function handed(value, variable) {
  return JSON.stringify([value, Boolean(variable.multi || variable.includeAll)]);
}

const ASKED = {
  // For every text a list, with one string for every format.
  interpolated({ variables, builtins, texts, formats }) {
    const scene = new EmbeddedScene({
      $variables: new SceneVariableSet({ variables: variables.map((state) => new CustomVariable(state)) }),
      body: new SceneFlexLayout({ children: [] }),
    });
    const formatter = (format) => (format === "handed" ? handed : (format ?? undefined));
    return texts.map((text) =>
      formats.map((format) => attempted(() => sceneGraph.interpolate(scene, text, builtins, formatter(format)))),
    );
  },
  // The options, [text, value], that a query variable makes of an answer.
  options({ regex, sort, texts }) {
    const variable = new QueryVariable({ name: "v", regex, sort });
    return variable.metricFindValuesToOptions(texts.map((text) => ({ text }))).map((o) => [o.label, o.value]);
  },
  // The options of a custom variable.
  custom({ query }) {
    return new CustomVariable({ name: "v", query }).transformCsvStringToOptions(query, false).map((o) => [o.label, o.value]);
  },
  // What is chosen among options, [value, text].
  chosen({ state, options }) {
    const variable = new QueryVariable({ ...state, name: "v", defaultToAll: state.includeAll });
    const offered = options.map(([label, value]) => ({ label, value }));
    const update = variable.getStateUpdateGivenNewOptions(offered, state.value, state.text);
    return [update.value, update.text];
  },
  // What `auto` of an interval variable is.
  interval({ from, to, steps, least }) {
    return rangeUtil.calculateInterval({ from: dateTime(from), to: dateTime(to) }, steps, least).interval;
  },
};

const questions = JSON.parse(readFileSync(0, "utf8"));
const answers = JSON.stringify(questions.map((question) => attempted(() => ASKED[question.ask](question))));
process.stdout.write(answers, () => process.exit(0));
