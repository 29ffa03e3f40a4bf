// Files are made here and saved by the browser; nothing is sent.
function save(name, text, type = "text/plain") {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A cell that begins like a formula is made words: spreadsheets would run it. Numbers with spread and marks are none.
const PLAIN_NUMBER = "[+-]?(\\d+\\.?\\d*|\\.\\d+|inf|nan)(e[+-]?\\d+)?( ?%)?";
const HARMLESS = new RegExp(`^([+-]|${PLAIN_NUMBER}( ?\u00b1 ?${PLAIN_NUMBER})?( [\u2020\u2021\u00a7]+)?)$`, "i");
const csvCell = (value) => {
  const text = String(value ?? "");
  const safe = /^['=+\-@\t\r\n]/.test(text) && !HARMLESS.test(text) ? "'" + text : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
const csv = (lines) => lines.map((line) => line.map(csvCell).join(",")).join("\n") + "\n";

// A cell of a table is a list of pieces, each of a kind: words, strong ones, or a mark that refers to a note.
const asText = (piece) => piece.text;
const MARKDOWN = {
  words: (text) => text.replace(/[\\|<>*_`]/g, "\\$&"),
  strong: (text) => `**${MARKDOWN.words(text)}**`,
  mark: (text) => `<sup>${MARKDOWN.words(text)}</sup>`,
};
const TEX = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\u00b1": "$\\pm$", "\u00d7": "$\\times$", "<": "$<$", ">": "$>$", "\u2013": "--", "\u2020": "$^\\dagger$", "\u2021": "$^\\ddagger$", "\u00a7": "$^\\S$" };
const texCell = (text) => text.replace(/[\\~^\u00b1\u00d7<>\u2013\u2020\u2021\u00a7&%$#_{}]/g, (sign) => TEX[sign] || "\\" + sign);
const LATEX = { words: texCell, strong: (text) => `\\textbf{${texCell(text)}}`, mark: texCell };
const set = (kinds, joined) => (cell) => cell.map(({ kind, text }) => (kind === "mark" ? joined : " ") + kinds[kind](text)).join("").trim();

function markdown(lines) {
  const [head, ...body] = lines.map((line) => line.map(set(MARKDOWN, "")));
  return [head, head.map(() => "---"), ...body].map((line) => `| ${line.join(" | ")} |`).join("\n") + "\n";
}

function latex(lines) {
  const [head, ...body] = lines.map((line) => line.map(set(LATEX, "")).join(" & ") + " \\\\");
  return [`\\begin{tabular}{${"l".repeat(lines[0].length)}}`, "\\toprule", head, "\\midrule", ...body, "\\bottomrule", "\\end{tabular}", ""].join("\n");
}

const spaced = (text) => text.replace(/\s+/g, " ").trim();
const KINDS = { STRONG: "strong", SUP: "mark" };
const wordsAs = (text) => [{ kind: "words", text: spaced(String(text)) }];
const piecesOf = (cell) =>
  [...cell.childNodes].filter((node) => !node.classList?.contains("paper")).map((node) => ({ kind: KINDS[node.nodeName] || "words", text: spaced(node.textContent) })).filter(({ text }) => text);

// What is printed in a paper is below our number in its cell, and in columns of its own where it is taken away.
const printedIn = (cell) => [wordsAs(one(".paper", cell)?.textContent || ""), wordsAs(one(".paper .sign", cell)?.getAttribute("aria-label") || "")];

// Headings above groups of columns come before their columns'.
function titlesOf(table) {
  const text = (cell) => piecesOf(one(".dt-column-title", cell) || cell).map(asText).join(" ");
  const rows = [...table.tHead.rows];
  const groups = rows.slice(0, -1).map((row) => [...row.cells].flatMap((cell) => Array(cell.colSpan).fill(text(cell))));
  return [...rows.at(-1).cells].map((cell, place) => [...groups.map((line) => line[place]), text(cell), cell.dataset.unit].filter(Boolean).join(", "));
}

// The lines as they are filtered and sorted, on whatever page of the list they are. Those that were not on the page
// yet are numbers and words without a cell.
function bodyOf(table, made) {
  if (!made) return [...table.tBodies].flatMap((body) => [...body.rows]).map((row) => [...row.cells]);
  const chosen = { search: "applied", order: "applied" };
  // Numbers in one unit, where the page has words such as 1.2 ms.
  if (table.dataset.exact) return made.rows(chosen).data().toArray();
  const [count, rows] = [made.rows(chosen).count(), made.rows(chosen).nodes().toArray()];
  if (rows.length === count) return rows.map((row) => [...row.cells]);
  const shown = made.cells(null, null, chosen).render("display").toArray();
  const width = shown.length / count;
  return Array.from({ length: count }, (_, line) => shown.slice(line * width, (line + 1) * width));
}

function linesOf(table, made) {
  const body = bodyOf(table, made);
  const hasPaper = (place) => body.some((line) => line[place] instanceof Element && one(".paper", line[place]));
  // Buttons are left on the page.
  const places = [...table.tHead.rows].at(-1).cells;
  const columns = [...places].flatMap((cell, place) => (cell.classList.contains("plain") ? [] : [{ place, printed: hasPaper(place) }]));
  const titles = titlesOf(table);
  const head = columns.flatMap(({ place, printed }) => [titles[place], ...(printed ? [`${titles[place]}, printed`, `${titles[place]}, verdict`] : [])]);
  const of = (cell, printed) => (cell instanceof Element ? [piecesOf(cell), ...(printed ? printedIn(cell) : [])] : [wordsAs(cell)]);
  return [head.map(wordsAs), ...body.map((line) => columns.flatMap(({ place, printed }) => of(line[place], printed)))];
}

const FORMS = { CSV: ["csv", (lines) => csv(lines.map((line) => line.map((cell) => cell.map(asText).join(" "))))], LaTeX: ["tex", latex], Markdown: ["md", markdown] };

function addTableForms(table, made) {
  const place = table.closest(".dt-container") || table.closest(".scrolled") || table;
  const bar = make("p", "", "take small");
  bar.append("Take it away: ");
  for (const [title, [ending, form]] of Object.entries(FORMS)) {
    const button = make("button", title, "details");
    button.type = "button";
    button.setAttribute("aria-label", `${nameOf(table)} as ${title}`);
    button.addEventListener("click", () => save(`${slug(nameOf(table)) || "table"}.${ending}`, form(linesOf(table, made))));
    bar.append(button, " ");
  }
  place.after(bar);
}

// A figure as SVG, on paper or PDF by the browser's own printing, and its numbers.
// A4 across, without its margins, in pixels; of its height what heading, legend and caption leave.
const PAPER = { width: 1032, height: 500, gap: 24, title: 28, least: 150 };

// The figure fills the paper in as many columns as it has; other things come back when the browser has printed.
function printAlone(figure, redraw) {
  const root = document.documentElement;
  const count = all(".plot", figure).length;
  const columns = Number(getComputedStyle(one(".panels", figure) || figure).getPropertyValue("--columns")) || 1;
  const abreast = Math.min(columns, count, 4);
  const width = (PAPER.width - (abreast - 1) * PAPER.gap) / abreast;
  const height = Math.max(PAPER.least, PAPER.height / Math.ceil(count / abreast) - PAPER.title);
  figure.style.setProperty("--abreast", abreast);
  figure.style.setProperty("--height", `${height}px`);
  figure.dataset.alone = root.dataset.alone = "yes";
  applyTheme();
  redraw({ width, height });
  window.addEventListener("afterprint", () => {
    delete figure.dataset.alone;
    delete root.dataset.alone;
    applyTheme();
    redraw({});
    all(".plot", figure).forEach(fit);
  }, { once: true });
  window.print();
}

// One picture of all panels, with title and legend, in light colours whatever the page has: for papers and slides.
const SVG = "http://www.w3.org/2000/svg";
const PICTURE = { gap: 16, line: 22, key: 34, one: [720, 420], several: [460, 320], pictures: [300, 260] };

function svgPart(tag, attributes, text = "") {
  const part = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach((pair) => part.setAttribute(...pair));
  part.textContent = text;
  return part;
}

const svgText = (text, x, y, style = {}) => svgPart("text", { x, y, "font-size": 13, fill: "#1c2328", ...style }, text);

function penOf(font) {
  const pen = make("canvas").getContext("2d");
  pen.font = font;
  return (text) => pen.measureText(text).width;
}

// A title in as many lines as it needs.
function titleAsSvg(title, width) {
  const measure = penOf("600 17px sans-serif");
  const lines = [""];
  for (const word of title.split(" ")) {
    if (lines.at(-1) && measure(lines.at(-1) + word) > width - 2 * PICTURE.gap) lines.push("");
    lines.push(`${lines.pop()}${word} `);
  }
  const text = svgText("", PICTURE.gap, 26, { "font-size": 17, "font-weight": 600 });
  lines.forEach((line, place) => text.append(svgPart("tspan", { x: PICTURE.gap, dy: place ? PICTURE.line : 0 }, line)));
  return { text, bottom: 38 + (lines.length - 1) * PICTURE.line };
}

// A panel as Plotly draws it alone, with the zoom that it has on the page.
async function panelAsSvg(place, panel, [width, height]) {
  const { data, layout } = themed(chosen(panel), false);
  for (const axis of ["xaxis", "yaxis"]) {
    const shown = place.layout?.[axis];
    if (shown?.range && shown.autorange === false) layout[axis] = { ...layout[axis], range: [...shown.range], autorange: false };
  }
  const image = await Plotly.toImage({ data, layout: { ...layout, paper_bgcolor: "#fff" } }, { format: "svg", width, height });
  const text = decodeURIComponent(image.slice(image.indexOf(",") + 1));
  return new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
}

// What is switched on, each with its line or mark, in as many rows as it needs.
function legendAsSvg(figure, width, top) {
  const legend = svgPart("g", { class: "legend" });
  const measure = penOf("13px sans-serif");
  let [x, y] = [PICTURE.gap, top];
  for (const button of all(".legend [data-key][aria-pressed=true]", figure)) {
    const needed = PICTURE.key + measure(button.dataset.key) + 1.2 * PICTURE.gap;
    if (x > PICTURE.gap && x + needed > width) [x, y] = [PICTURE.gap, y + PICTURE.line];
    const swatch = one("svg", button).cloneNode(true);
    Object.entries({ x, y: y + 3, width: 28, height: 12 }).forEach((pair) => swatch.setAttribute(...pair));
    legend.append(swatch, svgText(button.dataset.key, x + PICTURE.key, y + 13));
    x += needed;
  }
  return { legend, bottom: legend.childElementCount ? y + PICTURE.line + 6 : top };
}

async function figureAsSvg(figure, places, panels) {
  const grid = one(".panels", figure);
  const columns = Math.min(Number(grid && getComputedStyle(grid).getPropertyValue("--columns")) || 1, places.length);
  const size = places.length === 1 ? PICTURE.one : PICTURE[grid.classList.contains("pictures") ? "pictures" : "several"];
  const width = columns * (size[0] + PICTURE.gap) + PICTURE.gap;
  const title = one("h2, h3", figure).textContent;
  const drawing = svgPart("svg", { xmlns: SVG, "font-family": "system-ui, sans-serif" });
  drawing.append(svgPart("title", {}, title), svgPart("desc", {}, one("figcaption", figure)?.textContent || ""));
  drawing.append(svgPart("rect", { width: "100%", height: "100%", fill: "#fff" }));
  const heading = titleAsSvg(title, width);
  const { legend, bottom } = legendAsSvg(figure, width, heading.bottom);
  drawing.append(heading.text, legend);
  let [column, top] = [0, bottom];
  for (const place of places) {
    const box = place.closest(".panel");
    // A heading above panels begins a row.
    const above = box?.previousElementSibling?.matches(".heading") ? box.previousElementSibling : null;
    if (column && (column === columns || above)) [column, top] = [0, top + PICTURE.line + size[1]];
    if (above) drawing.append(svgText(above.textContent, PICTURE.gap, (top += PICTURE.line) - 6));
    const left = PICTURE.gap + column * (size[0] + PICTURE.gap);
    if (box) drawing.append(svgText(one("h3", box).textContent, left, top + 16, { "font-weight": 600 }));
    const panel = await panelAsSvg(place, panels.get(place), size);
    Object.entries({ x: left, y: top + PICTURE.line }).forEach((pair) => panel.setAttribute(...pair));
    drawing.append(panel);
    column += 1;
  }
  const height = top + PICTURE.line + size[1] + PICTURE.gap;
  Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` }).forEach((pair) => drawing.setAttribute(...pair));
  return new XMLSerializer().serializeToString(drawing);
}

function prepareFigureForms(figure, places, panels) {
  const name = slug(figure.dataset.chart);
  const forms = {
    SVG: async () => save(`${name}.svg`, await figureAsSvg(figure, places, panels), "image/svg+xml"),
    PDF: () => printAlone(figure, (size) => places.forEach((place) => draw(place, panels.get(place), size))),
    Data: () => save(`${name}.csv`, csv([["panel", "series", "x", "y", "absolute"], ...places.flatMap((place) => numbersOf(place, panels.get(place)))]), "text/csv"),
  };
  const bar = make("p", "", "take small");
  bar.append("Take it away: ");
  for (const [title, act] of Object.entries(forms)) {
    const button = make("button", title, "details");
    button.type = "button";
    button.setAttribute("aria-label", `${one("h2, h3", figure).textContent} as ${title}`);
    button.addEventListener("click", act);
    bar.append(button, " ");
  }
  figure.append(bar);
}

const numbersOf = (place, { data }) => data.filter((trace) => trace.x).flatMap((trace) => trace.x.map((x, count) => [place.getAttribute("aria-label"), trace.name, x, trace.y[count], absoluteOf(trace)?.[count]]));
