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

// The numbers of a figure; panels are saved as SVG by the button that Plotly has for it.
function prepareFigureForms(figure, places, panels) {
  const bar = make("p", "", "take small");
  const button = make("button", "Data", "details");
  button.type = "button";
  button.setAttribute("aria-label", `${one("h2, h3", figure).textContent} as Data`);
  const lines = () => [["panel", "series", "x", "y", "absolute"], ...places.flatMap((place) => numbersOf(place, panels.get(place)))];
  button.addEventListener("click", () => save(`${slug(figure.dataset.chart)}.csv`, csv(lines()), "text/csv"));
  bar.append("Take it away: ", button);
  figure.append(bar);
}

const numbersOf = (place, { data }) => data.filter((trace) => trace.x).flatMap((trace) => trace.x.map((x, count) => [place.getAttribute("aria-label"), trace.name, x, trace.y[count], absoluteOf(trace)?.[count]]));
