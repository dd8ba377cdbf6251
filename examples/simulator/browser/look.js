// What is wrong with a page, as a list of sentences: text and marks that stand out too little from what is behind them, charts that are missing or
// empty, and a page that is wider than the window.
(() => {
  const faults = [];
  const rgba = (s) => (s.match(/[\d.]+/g) || []).map(Number);
  const lighter = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  const luminance = (c) => { const [r, g, b] = lighter(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const require = (e, colour, least, what) => {
    const ratio = contrast(rgba(colour), behind(e));
    if (ratio < least) faults.push(`${what}: contrast ${ratio.toFixed(2)}, want ${least}`);
  };
  const texts = [...document.querySelectorAll("h1, h2, h3, p, dt, dd, th, td, figcaption, .note")].filter((e) => e.textContent.trim());
  for (const e of texts) require(e, getComputedStyle(e).color, 4.5, `${e.tagName} ${e.textContent.trim().slice(0, 30)}`);
  for (const svg of document.querySelectorAll("figure svg")) {
    const name = svg.getAttribute("aria-label"), box = svg.getBoundingClientRect();
    if (box.width < 250 || box.height < 60) faults.push(`${name}: ${box.width}x${box.height}`);
    const words = [...svg.querySelectorAll("text")], marks = [...svg.querySelectorAll("path")];
    if (words.length < 3 || marks.length < 3) faults.push(`${name}: ${words.length} texts and ${marks.length} marks`);
    for (const e of words) require(svg, getComputedStyle(e).fill, 4.5, `${name}: ${e.textContent}`);
    for (const e of marks) {
      const style = getComputedStyle(e);
      const colour = style.fill !== "none" ? style.fill : style.stroke;
      const [r, g, b] = rgba(colour);
      if (Math.max(r, g, b) - Math.min(r, g, b) > 20) require(svg, colour, 3, `${name}: mark ${colour}`); // grey is for axes
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is ${document.documentElement.scrollWidth} wide in a window of ${innerWidth}`);
  return { faults: [...new Set(faults)], charts: document.querySelectorAll("figure svg").length, tables: document.querySelectorAll("table").length,
    page: getComputedStyle(document.body).backgroundColor };
})()
