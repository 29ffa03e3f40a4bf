// Columns lie below each other, and words once; rows are what is shown.
function rowsOf(columns) {
  const whole = columns.map((column) => (Array.isArray(column) ? column : column.places.map((place) => column.words[place])));
  return (whole[0] || []).map((_, row) => whole.map((column) => column[row]));
}

const MOST_LINES = 500;

// The table of runs, and the details of each.
function makeRuns(DataTable, runs) {
  const { value } = runs;
  const number = (digits, name) => (index) => {
    const shown = value(index, name);
    return shown === null || shown === undefined ? "" : Number(shown.toPrecision(digits));
  };
  const columns = [
    (index) => index,
    (index) => runs.experimentOf(value(index, "experiment")),
    ...[0, 1, 2].map((part) => (index) => runs.names[index][part]),
    (index) => value(index, "run"),
    (index) => words(value(index, "status")),
    number(3, "time_s"),
    number(6, "cost"),
    (index) => runs.metrics[value(index, "quality_metric")] || value(index, "quality_metric") || "",
    number(4, "quality"),
    number(6, "iterations"),
  ];
  const table = one("#table-runs");
  const options = tableOptions(table, "Runs");
  // Thousands of lines at once would take the browser many seconds.
  if (runs.rows.length > MOST_LINES) Object.assign(options, { paging: true, pageLength: MOST_LINES, lengthChange: false, layout: { ...options.layout, bottomEnd: "paging" } });
  // Runs without a number come last in either order.
  const last = (shown, kind) => (kind === "sort" && shown === "" ? 1e300 : shown);
  options.columns = columns.map(() => ({ render: last }));
  options.columns[7].render = (shown, kind) => (kind === "display" ? duration(shown) : last(shown, kind));
  options.columns[1].createdCell = (cell, label, row) => {
    const name = value(row[0], "experiment");
    cell.title = runs.titles[name];
    cell.replaceChildren(make("span", runs.titles[name], "title"), make("small", name));
  };
  options.columns[0].createdCell = (cell, index) => {
    const button = make("button", "Details", "details");
    button.type = "button";
    button.setAttribute("aria-label", "Details of " + titleOf(runs, value, index));
    cell.replaceChildren(button);
  };
  options.columns[6].createdCell = (cell, shown) => cell.replaceChildren(make("span", shown, "badge " + slug(shown)));
  options.data = runs.rows.map((_, index) => columns.map((shown) => shown(index)));
  options.createdRow = (line, row) => (line.dataset.run = row[0]);
  followAddress(new DataTable(table, options), runs);
}

// Lists of runs and of what was found lead to the details of a run.
function prepareDetails(runs) {
  const place = Object.fromEntries(runs.columns.map((name, count) => [name, count]));
  runs.value = (index, name) => runs.rows[index][place[name]];
  runs.experimentOf = (name) => `${runs.titles[name]} ${name}`;
  document.addEventListener("click", (event) => {
    const clicked = event.target.closest("[data-run]");
    if (clicked) showRun(runs, runs.value, Number(clicked.dataset.run));
  });
}

// The address names the runs that are shown, by the columns' words.
function followAddress(table, runs) {
  const columns = { experiment: 1, data: 2, kernel: 3, method: 4 };
  const lines = table.rows().data().toArray();
  const follow = () => {
    const { place, state } = readAddress();
    if (place !== "runs") return;
    // A number of a whole table has no runs of its own: those of its experiment are shown.
    const wanted = (name) => (name === "experiment" && state.has(name) ? runs.experimentOf(state.get(name)) : state.get(name));
    const here = lines.filter((line) => !state.has("experiment") || line[1] === wanted("experiment"));
    const chosen = Object.entries(columns).filter(([name, column]) => {
      const exact = here.some((line) => line[column] === wanted(name));
      table.column(column).search(exact ? wanted(name) : "", { exact });
      return exact;
    });
    table.draw();
    sayWhatIsShown(chosen.map(([name]) => (name === "experiment" ? runs.titles[state.get(name)].replace(/\.$/, "") : state.get(name))));
  };
  follow();
  window.addEventListener("hashchange", follow);
}

// What the list is narrowed to, and the way back to all of it.
function sayWhatIsShown(names) {
  const every = make("a", "Show all runs");
  every.href = "#runs";
  one("#shown").hidden = !names.length;
  one("#shown").replaceChildren("Shown are runs of: ", make("strong", names.join("; ")), " ", every);
}

function duration(seconds) {
  if (seconds === "") return "";
  const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"], [1e-3, "ms"], [1e-6, "us"]];
  const [size, unit] = units.find(([least]) => seconds >= least) || units.at(-1);
  return Number((seconds / size).toPrecision(3)) + unit;
}

function titleOf(runs, value, index) {
  const [dataset, kernel, method] = runs.names[index];
  const of = kernel === "" || value(index, "kernel") === "none" ? "" : `, ${kernel} kernel`;
  return `${method} on ${dataset}${of}, run ${value(index, "run")}`;
}

function showRun(runs, value, index) {
  one("#run-title").textContent = titleOf(runs, value, index);
  const status = one("#run-status");
  status.replaceChildren(make("span", words(value(index, "status")), "badge " + slug(value(index, "status"))));
  const experiment = value(index, "experiment");
  status.append(" ", value(index, "message") || "", ` (${runs.titles[experiment]} ${experiment})`);
  one("#run-facts").replaceChildren(...Object.entries(runs.groups).map((group) => factsOf(group, runs, value, index)));
  const dialog = one("#run");
  dialog.showModal();
  dialog.scrollTop = 0;
}

// Names end in their units.
const unitOf = (name) => words(name.replace(/_s$/, " [s]").replace(/_mib$/, " [MiB]"));
const digits = (shown) => (Math.abs(shown) < 1e-3 && shown ? shown.toExponential(4) : String(Number(shown.toPrecision(7))));

function factsOf([title, names], runs, value, index) {
  const group = make("section");
  const list = make("dl");
  for (const name of names) {
    const shown = value(index, name);
    if (shown === null || shown === "") continue;
    const time = name.endsWith("_s") && runs.metrics[name];
    const label = name === "quality" ? runs.metrics[value(index, "quality_metric")] : time ? `${time} [s]` : unitOf(name);
    list.append(make("dt", label || name), make("dd", typeof shown === "number" ? digits(shown) : String(shown)));
  }
  group.append(make("h3", title), list);
  return group;
}

async function start() {
  applyTheme();
  showChapter(false);
  window.addEventListener("hashchange", () => showChapter(true));
  window.addEventListener("resize", hintAtWidth);
  // Of tables that are made: before the page's own style, which has the last word.
  document.head.prepend(make("style", await unpack("style")));
  for (const place of all("[data-packed]")) place.innerHTML = await unpack(place.dataset.packed);
  await prepareCells();
  prepareTips();
  const [, { default: DataTable }, data] = await Promise.all([unpackScript("plotly"), unpackScript("tables"), unpack("data")]);
  const { charts, runs } = JSON.parse(data);
  runs.rows = rowsOf(runs.values);
  runs.names = rowsOf(runs.names);
  prepareDetails(runs);
  const made = new Set();
  prepareChapter = (chapter) => {
    if (made.has(chapter)) return;
    made.add(chapter);
    makeTables(DataTable, chapter);
    if (chapter.id === "runs") makeRuns(DataTable, runs);
  };
  prepareChapter(one(".chapter:not([hidden])"));
  hintAtWidth();
  prepareFigures(charts);
  // Its table was made since the page went to it.
  const entry = document.getElementById(readAddress().place);
  if (entry && !entry.matches(".chapter")) entry.scrollIntoView();
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  const trouble = one("#trouble");
  trouble.textContent = `Figures and runs cannot be shown here (${error.message}). The page needs a browser of 2023 or later.`;
  trouble.hidden = false;
  throw error;
});
