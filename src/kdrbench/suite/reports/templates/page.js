"use strict";

// Scripts and data lie in the page as gzip in base64.
async function unpack(name) {
  const bytes = Uint8Array.from(atob(document.getElementById("pack-" + name).textContent), (one) => one.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

async function unpackScript(name) {
  const address = URL.createObjectURL(new Blob([await unpack(name)], { type: "text/javascript" }));
  try {
    return await import(address);
  } finally {
    URL.revokeObjectURL(address);
  }
}

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const words = (name) => String(name).replaceAll("_", " ");
const slug = (name) => String(name).toLowerCase().replace(/[^a-z0-9_]+/g, "-");
const printing = window.matchMedia("print");

function make(tag, text = "", name = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  element.className = name;
  return element;
}

// Tables of a chapter are made when it is first opened; until the scripts are unpacked there is nothing to make.
let prepareChapter = () => {};

// Chapters: the address after # names one, or an entry of one.
function showChapter(moved) {
  const target = document.getElementById(readAddress().place) || one("#overview");
  const chapter = target.closest(".chapter") || one("#overview");
  for (const section of all(".chapter")) section.hidden = section !== chapter;
  for (const link of all("header nav a")) {
    if (link.hash === "#" + chapter.id) {
      link.setAttribute("aria-current", "page");
      // On a phone the names of the chapters are wider than the page.
      one("header ul").scrollLeft = link.offsetLeft - link.offsetWidth;
    } else link.removeAttribute("aria-current");
  }
  prepareChapter(chapter);
  all(".plot[data-drawn]", chapter).forEach(fit);
  hintAtWidth();
  if (!moved) return;
  if (target.matches("details")) target.open = true;
  if (target === chapter) window.scrollTo(0, 0);
  else target.scrollIntoView();
  one("h1, h2", target)?.focus({ preventScroll: true });
}

// Figures are drawn when they come into sight.
const PLOT = {
  displaylogo: false,
  responsive: true,
  modeBarButtons: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
  toImageButtonOptions: { format: "svg" },
};

function draw(place, panel) {
  place.dataset.drawn = "yes";
  // A finger that drags scrolls the page; a mouse zooms.
  const dragmode = window.matchMedia("(pointer: coarse)").matches ? false : "zoom";
  const { data, layout } = themed(panel);
  return Plotly.react(place, data, { ...layout, dragmode }, PLOT);
}

// What all plots share.
const SURROUNDINGS = {
  showlegend: false,
  hovermode: "closest",
  barmode: "group",
  paper_bgcolor: "rgba(0,0,0,0)",
  margin: { l: 64, r: 12, t: 8, b: 48 },
};

// Black lines are white ones in the dark; the other colours are seen on both.
function themed({ data, layout }, dark = isDark()) {
  const [ink, ground, grid] = dark ? ["#d6dbe0", "#131416", "#33383d"] : ["#333", "#fff", "#e6e6e6"];
  const colour = (value) => (dark && /^#0{6}$/.test(value) ? "#e8e8e8" : value);
  const recoloured = (part) => part && { ...part, color: colour(part.color) };
  const axes = Object.fromEntries(["xaxis", "yaxis"].map((name) => [name, { zeroline: false, showline: true, ticks: "outside", ...layout[name], gridcolor: grid, linecolor: "#8a939b" }]));
  const modebar = { bgcolor: "rgba(0,0,0,0)", color: "#7a868f", activecolor: dark ? "#7ec3ee" : "#005a8c" };
  return {
    data: data.map((trace) => ({ ...trace, ...(trace.line && { line: recoloured(trace.line) }), ...(trace.marker && { marker: recoloured(trace.marker) }) })),
    layout: { ...SURROUNDINGS, ...layout, ...axes, modebar, font: { family: "system-ui, sans-serif", size: 12, color: ink }, plot_bgcolor: ground, hoverlabel: { bgcolor: ground, font: { color: ink } } },
  };
}

// A plot that is not shown gets the size of its place when its chapter is opened: the window may have changed.
function fit(place) {
  const drawn = place.offsetParent && one(".main-svg", place)?.getBoundingClientRect().width;
  if (drawn && Math.abs(drawn - place.clientWidth) > 1) Plotly.Plots.resize(place);
}

function prepareFigures(charts) {
  const panels = new Map();
  const seen = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => drawOnce(entry.target)),
    { rootMargin: "300px" },
  );
  const drawOnce = (place) => {
    seen.unobserve(place);
    if (!place.dataset.drawn) draw(place, panels.get(place));
  };
  for (const figure of all("figure.chart")) {
    const places = all(".plot", figure);
    places.forEach((place, count) => {
      // A chart may be shown twice, and Plotly writes into what it draws.
      panels.set(place, structuredClone(charts[figure.dataset.chart].panels[count]));
      seen.observe(place);
    });
    prepareLegend(figure, places, panels);
  }
  const redraw = () => [...panels].filter(([place]) => place.dataset.drawn).forEach(([place, panel]) => draw(place, panel));
  prepareTheme(redraw);
}

// A panel that is not drawn yet remembers what is switched off.
function prepareLegend(figure, places, panels) {
  const buttons = all(".legend [data-key]", figure);
  const show = (shown) => {
    buttons.forEach((button) => button.setAttribute("aria-pressed", String(shown(button))));
    const off = new Set(buttons.filter((button) => !shown(button)).map((button) => button.dataset.key));
    for (const place of places) {
      const { data } = panels.get(place);
      data.forEach((trace) => (trace.visible = !off.has(trace.legendgroup)));
      if (place.dataset.drawn) draw(place, panels.get(place));
    }
  };
  const pressed = (button) => button.getAttribute("aria-pressed") === "true";
  for (const clicked of buttons) {
    clicked.addEventListener("click", () => {
      const after = !pressed(clicked);
      show((button) => (button === clicked ? after : pressed(button)));
    });
  }
  one(".legend .all", figure)?.addEventListener("click", () => show(() => true));
  one(".legend .none", figure)?.addEventListener("click", () => show(() => false));
}

// Tables: columns of few different words are filtered by a list of them, others by what is typed.
function filterOf(kind) {
  const content = kind === "few" ? ["searchList"] : ["search"];
  return [{ extend: "dropdown", icon: "search", text: "Filter", className: "filter", content }];
}

function tableOptions(table, name) {
  // Groups of columns are above the line of columns.
  const target = table.tHead.rows.length - 1;
  return {
    paging: false,
    autoWidth: false,
    order: [],
    layout: { topStart: "search", topEnd: "info", bottomStart: null, bottomEnd: null },
    language: { search: "Filter:", info: "_TOTAL_ _ENTRIES-TOTAL_", entries: { _: "lines", 1: "line" }, infoFiltered: "of _MAX_", infoEmpty: "0 lines", emptyTable: "Nothing." },
    columnDefs: [
      { targets: "few", columnControl: [{ target, content: filterOf("few") }] },
      { targets: ["words", "number"], columnControl: [{ target, content: filterOf("other") }] },
      { targets: ["number", "value"], type: "num", className: "number" },
      { targets: "plain", orderable: false, searchable: false },
    ],
    initComplete() {
      for (const button of all("th .dtcc-button", table)) {
        button.setAttribute("aria-label", "Filter by " + one(".dt-column-title", button.closest("th")).textContent);
      }
      const scrolled = this.api().table().container().querySelector("table").parentElement;
      scrolled.classList.add("scrolled");
      Object.entries({ tabindex: 0, role: "region", "aria-label": name }).forEach((pair) => scrolled.setAttribute(...pair));
    },
  };
}

// What says that it is a button answers to the space bar as buttons do; DataTables knows the enter key only.
document.addEventListener("keydown", (event) => {
  if (event.key !== " " || event.target.getAttribute("role") !== "button") return;
  event.preventDefault();
  event.target.click();
});

// The buttons of its filters act on the space bar and on the click that browsers make of it: once is enough.
document.addEventListener("keypress", (event) => {
  if (event.key === " " && event.target.closest?.(".dtcc-button")) event.stopPropagation();
}, true);

const nameOf = (table) => one("caption", table)?.textContent || "";

function makeTables(DataTable, within = document) {
  const wanted = (table) => !table.dataset.made;
  for (const table of all("table.data", within).filter(wanted)) {
    table.dataset.made = "yes";
    new DataTable(table, tableOptions(table, nameOf(table)));
  }
}

