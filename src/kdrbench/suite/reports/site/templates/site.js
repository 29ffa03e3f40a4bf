{% include "page.js" %}
{% include "tools.js" %}

// The pack of tables lies in a script beside the page; page.js takes packs from elements.
async function startSite() {
  const packed = make("script", PACKED_TABLES);
  packed.type = "text/plain";
  packed.id = "pack-tables";
  document.body.append(packed);
  applyTheme();
  prepareTheme(() => {});
  prepareTips();
  unfoldOnPaper();
  window.addEventListener("resize", hintAtWidth);
  // What is folded away has no width until it is opened; this event does not bubble.
  document.addEventListener("toggle", hintAtWidth, true);
  const { default: DataTable } = await unpackScript("tables");
  makeTables(DataTable);
  hintAtWidth();
}

startSite().finally(() => (document.documentElement.dataset.ready = "yes"));
