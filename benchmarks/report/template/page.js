"use strict";

const all = (selector, inside = document) => Array.from(inside.querySelectorAll(selector));
const byId = (id) => document.getElementById(id);

// ---- tables that sort by a click on a head ----

// A number to sort by: data-value if the cell has one, else its text; what is no number goes last either way.
function key(row, column, numeric) {
  const cell = row.cells[column];
  const text = (cell.dataset.value ?? cell.textContent).trim();
  if (!numeric) return text.toLowerCase();
  const value = text === "" ? NaN : parseFloat(text.replace("−", "-").replace(",", ""));
  return Number.isNaN(value) ? null : value;
}

function sort(table, column, numeric, direction) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows, (row) => ({ row, value: key(row, column, numeric) }));
  rows.sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
    const order = numeric ? a.value - b.value : a.value.localeCompare(b.value, "en", { numeric: true });
    return direction * order;
  });
  body.append(...rows.map((entry) => entry.row));
}

for (const table of all("table.sortable")) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    head.firstElementChild.addEventListener("click", () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
      sort(table, column, head.dataset.kind === "number", direction);
    });
  });
}

// ---- the parts of the page ----

document.documentElement.classList.add("script");
const parts = all(".part");

// The part that holds the target of the address, with everything folded around the target opened.
function show() {
  const name = decodeURIComponent(location.hash.slice(1)), target = name && byId(name);
  const part = (target && target.closest(".part")) || parts[0];
  parts.forEach((other) => other.classList.toggle("shown", other === part));
  for (const link of all(".tabs a")) {
    if (link.hash === `#${part.id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  if (target && target.dataset.key) open(target.dataset.key);
  else if (byId("cell")?.open) byId("cell").close();
  if (target && target !== part) target.scrollIntoView({ block: target.dataset.key ? "center" : "start" });
  else scrollTo(0, 0);
}

// ---- cells: filters, and what a reader may compute again ----

const DATA = byId("numbers") && JSON.parse(byId("numbers").textContent);
const text = (value, digits) => (Number.isNaN(value) ? "–" : value.toFixed(digits).replace("-", "−"));
const printed = (value) => text(value, 3);

function element(name, attributes, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

// The scores of a cell by split, without those left out; null where the run has no such cell.
function scores(cellKey, choice) {
  const found = DATA.scores[cellKey], dataset = cellKey.split("/")[0];
  const convention = choice.convention || DATA.conventions[dataset];
  if (!found || !found[convention]) return null;
  return found[convention].filter((_, k) => !choice.without.has(DATA.splits[dataset][k]));
}

const reference = (cellKey) => {
  const [dataset, model, ...rest] = cellKey.split("/");
  return model === DATA.reference ? null : [dataset, DATA.reference, ...rest].join("/");
};

function result(cellKey, choice) {
  const values = scores(cellKey, choice), other = reference(cellKey);
  return values && summary(values, other && scores(other, choice), DATA.testToTrain);
}

function chosen() {
  const convention = document.querySelector("input[name=convention]:checked").value;
  const test = document.querySelector("input[name=test]:checked").value;
  return { convention, test, without: new Set(all("input[name=split]:not(:checked)").map((box) => Number(box.value))) };
}

// Numbers, marks and asterisks of the table from the scores; at first they are what was printed.
function recompute() {
  const choice = chosen(), table = document.querySelector("table.cells");
  const asPrinted = !choice.convention && choice.test === "plain" && choice.without.size === 0;
  table.classList.toggle("stepped", choice.convention !== "" || choice.without.size > 0);
  byId("state").textContent = asPrinted ? "" : "Computed here from the scores per split" +
    (choice.convention || choice.without.size ? "; published values and verdicts belong to the numbers as printed." : ".");
  for (const body of table.tBodies) {
    const columns = new Map();
    for (const link of all("a[data-key]", body)) {
      link.dataset.printed ??= `${link.className}|${link.textContent}`;
      const [name, shown] = link.dataset.printed.split("|");
      link.className = name;
      link.textContent = shown;
      const found = asPrinted ? null : result(link.dataset.key, choice);
      if (!found) continue;
      const star = found[choice.test] < DATA.alpha ? "*" : "";
      link.textContent = `${printed(found.mean)} ±${printed(found.standardError).replace(/^0/, "")}${star}`;
      const column = link.dataset.key.split("/").slice(2).join("/");
      if (!columns.has(column)) columns.set(column, []);
      columns.get(column).push([link, found.mean]);
    }
    for (const [column, entries] of columns) {
      const metric = column.split("/")[0];
      const marked = ranks(entries.map((entry) => entry[1]), DATA.metrics[metric].higher);
      entries.forEach(([link], k) => (link.className = { 1: "best", 2: "second" }[marked[k]] ?? ""));
    }
  }
}

// Rows and columns that match the filters; a row stays if one of its cells does.
function filter() {
  const wanted = Object.fromEntries(all(".filter").map((field) => [field.name, field.value.trim().toLowerCase()]));
  const table = document.querySelector("table.cells");
  const hidden = (column) => (wanted.metric && column.metric !== wanted.metric) || (wanted.level && column.level !== wanted.level);
  for (const cell of all("[data-metric]", table)) cell.hidden = hidden(cell.dataset);
  for (const head of all("th[data-of]", table)) {
    const columns = all(`thead [data-metric="${head.dataset.of}"]`, table).filter((cell) => !cell.hidden).length;
    head.colSpan = columns || 1;
    head.hidden = columns === 0;
  }
  let count = 0;
  for (const body of table.tBodies) {
    let some = false;
    for (const row of all("tr[data-model]", body)) {
      const words = `${row.dataset.dataset} ${row.dataset.model} ${row.textContent}`.toLowerCase();
      const cells = all("td[data-metric]:not([hidden])", row).filter((cell) => cell.firstElementChild);
      const matching = cells.filter((cell) => !wanted.verdict || cell.dataset.verdict === wanted.verdict);
      all("td", row).forEach((cell) => cell.classList.toggle("faded", wanted.verdict !== "" && !matching.includes(cell)));
      row.hidden = (wanted.dataset && row.dataset.dataset !== wanted.dataset) || (wanted.model && row.dataset.model !== wanted.model) ||
        !wanted.search.split(/\s+/).every((word) => words.includes(word)) || matching.length === 0;
      if (!row.hidden) count += matching.length;
      some ||= !row.hidden;
    }
    body.hidden = !some || (body.dataset.run === "no" && !byId("unrun").checked);
    if (body.hidden && some) count -= all("tr[data-model]:not([hidden]) td[data-metric]:not([hidden]) a", body).length;
  }
  byId("count").textContent = `${count} cells shown`;
}

// A button that copies a text.
function copy(content) {
  const button = element("button", { type: "button", textContent: "Copy" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(content);
    button.textContent = "Copied";
  });
  return button;
}

function table(caption, heads, rows) {
  const line = (cells, name) => element("tr", {}, ...cells.map((cell) => element(name, name === "th" ? { scope: "col" } : {}, cell)));
  const made = element("table", {}, element("caption", { textContent: caption }), element("thead", {}, line(heads, "th")),
    element("tbody", {}, ...rows.map((cells) => line(cells, "td"))));
  return element("div", { className: "scroll", tabIndex: 0 }, made);
}

// Everything one cell rests on.
function open(cellKey) {
  const [dataset, model, metric, level] = cellKey.split("/"), choice = chosen(), dialog = byId("cell");
  const known = DATA.cells[cellKey] ?? {}, found = result(cellKey, choice), facts = element("dl", {});
  const fact = (name, ...content) => content.join("") && facts.append(element("dt", { textContent: name }), element("dd", {}, ...content));
  const label = [DATA.metrics[metric].label, level && `at P(C > τ) = ${level}`].filter(Boolean).join(" ");
  fact("Published", known.paper && known.paper !== "–" ? known.paper : "");
  if (found) {
    const tests = Number.isNaN(found.plain) ? "" : `; against ${DATA.models[DATA.reference]} p = ${text(found.plain, 4)}, corrected for overlapping splits ${text(found.corrected, 4)}`;
    fact("This run", `${text(found.mean, 4)} ± ${text(found.standardError, 4)} over ${found.n} splits${tests}`);
  }
  const whole = choice.convention === "" && choice.without.size === 0;
  if (whole) fact("Verdict", known.verdict ?? "", known.why ? ` (${known.why})` : "");
  if (whole && found) fact("Difference", known.difference && known.difference !== "–" ? `${known.difference} (this run − published)` : "");
  fact("Other searches", known.searches ? `95% between ${known.searches}` : "");
  fact("Percentile", known.percentile ? `${known.percentile} of this run among other searches` : "");
  fact("Replications", (known.replications ?? []).join(", "));
  const body = [element("h2", { textContent: `${DATA.datasets[dataset]}, ${DATA.models[model]}: ${label}` }), facts];
  const rows = DATA.chosen[`${dataset}/${model}`] ?? [], values = found && DATA.scores[cellKey][choice.convention || DATA.conventions[dataset]];
  if (values) {
    const question = [dataset, metric, level, model].filter(Boolean).join(" ");
    for (const [what, command] of [["Fit its chosen models again", `python -m benchmarks verify cell ${question}`],
      ["Print the whole chain", `python -m benchmarks explain ${question} --run ${DATA.run}`]]) {
      body.push(element("div", { className: "copied" }, `${what}: `, element("code", { textContent: command }), copy(command)));
    }
  }
  const name = `cell-${[dataset, model, metric, level].filter(Boolean).join("-").replaceAll(".", "_")}`;
  const address = location.href.split("#")[0] + `#${name}`;
  body.push(element("div", { className: "copied" }, "Link to this cell: ", element("code", { textContent: `#${name}` }), copy(address)));
  if (values) {
    const lines = DATA.splits[dataset].map((split, k) => {
      const row = rows.find((other) => other.split === split) ?? {};
      const value = values[k] === null ? "none" : text(values[k], 4);
      return [split, choice.without.has(split) ? `${value} (left out)` : value, row.trial ?? "", row.score ?? "", row.hyper ?? "", row.seed ?? "", row.identity ?? "", row.code ?? ""].map(String);
    });
    body.push(table("Per split: the score on the test part, and the trial that the validation score chose",
      ["Split", "Score", "Trial", "Validation score", "Hyper-parameters", "Seed", "Identity", "Code"], lines));
  }
  byId("opened").replaceChildren(...body);
  if (!dialog.open) dialog.showModal();
}

// The table as it is shown, as CSV.
function download() {
  const choice = chosen(), lines = [["dataset", "model", "metric", "g_tau", "mean", "standard_error", "p_value", "p_corrected", "n_splits"]];
  for (const cellKey of Object.keys(DATA.scores)) {
    const found = result(cellKey, choice);
    if (found) lines.push([...cellKey.split("/"), found.mean, found.standardError, found.plain, found.corrected, found.n]);
  }
  const file = new Blob([lines.map((line) => line.join(",")).join("\n") + "\n"], { type: "text/csv" });
  element("a", { href: URL.createObjectURL(file), download: `${DATA.run}-cells.csv` }).click();
}

if (DATA) {
  all("input[name=convention], input[name=test], input[name=split]").forEach((field) => field.addEventListener("change", recompute));
  all(".filter").forEach((field) => field.addEventListener("input", filter));
  byId("unrun")?.addEventListener("change", filter);
  byId("download").addEventListener("click", download);
  byId("restore").addEventListener("click", () => {
    byId("controls").reset();
    recompute();
    filter();
  });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("cell").addEventListener("close", () => {
    if (location.hash.startsWith("#cell-")) history.replaceState(null, "", "#cells");
  });
  for (const link of all("table.cells a[data-key]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      history.replaceState(null, "", link.getAttribute("href"));
      open(link.dataset.key);
    });
  }
  filter();
}
if (parts.length) {
  addEventListener("hashchange", show);
  show();
}
