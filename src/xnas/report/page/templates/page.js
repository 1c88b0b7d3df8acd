// The page's own script: copying commands, the slider over epochs, charts and their numbers.
"use strict";
(() => {
  const payload = JSON.parse(document.getElementById("payload").textContent);
  const wide = () => document.documentElement.clientWidth;

  // Commands.
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const code = button.parentElement.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        const range = document.createRange();
        range.selectNodeContents(code);
        const selection = getSelection();
        selection.removeAllRanges();
        selection.addRange(range);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // Cells.
  const graphs = payload.graphs;
  const figure = document.getElementById("cells");
  if (graphs && figure) {
    const reason = document.getElementById("reason") || document.createElement("div");
    const slider = document.getElementById("epoch");
    const moment = document.getElementById("moment");
    const sections = [...figure.querySelectorAll(".cell")];
    const last = graphs.epochs.length - 1;
    let at = last, pointed = null;
    const percent = (share) => `${(100 * share).toFixed(1)} %`;

    const widest = (weight) => 1 + 8 * Math.max(0, Math.min(1, weight));
    const goneBy = (cell, edge, epoch) =>
      cell.wiped.filter((w) => w.edge === edge && w.epoch <= epoch);

    function show() {
      const epoch = graphs.epochs[at];
      let alive = 0, went = 0, all = 0;
      sections.forEach((section, index) => {
        const cell = graphs.cells[index], frame = cell.frames[at], kept = new Set(frame.kept);
        for (const mark of section.querySelectorAll("g.edge")) {
          const edge = Number(mark.dataset.edge), expert = frame.chosen[edge];
          const name = expert >= 0 ? cell.operations[expert] : "";
          const row = frame.weights[edge] || [];
          const line = mark.querySelector(".line");
          line.setAttribute("stroke", graphs.colours[name] || "#888888");
          line.setAttribute("stroke-width", widest(row.length ? row[expert] || 0 : 1).toFixed(1));
          line.setAttribute("opacity", kept.has(edge) ? 1 : 0.25);
          mark.classList.toggle("kept", kept.has(edge));
          const label = section.querySelector(`[data-label="${edge}"]`);
          label.setAttribute("visibility", kept.has(edge) ? "visible" : "hidden");
          const pill = label.querySelector("rect"), text = label.querySelector("text");
          pill.style.fill = graphs.colours[name] || "#888888";
          text.style.fill = graphs.inks[name] || "#14181d";
          text.textContent = graphs.brief[name] || name;
          mark.setAttribute("aria-label", words(cell, edge));
        }
        for (const strip of section.querySelectorAll(".strip")) {
          const edge = Number(strip.dataset.edge), row = frame.weights[edge] || [];
          const gone = goneBy(cell, edge, epoch);
          strip.classList.toggle("kept", kept.has(edge));
          [...strip.querySelector(".bar").children].forEach((part, expert) => {
            part.style.width = `${100 * (row[expert] || 0)}%`;
            part.style.background = graphs.colours[cell.operations[expert]] || "#888888";
          });
          strip.querySelector(".gone").textContent = gone.length ? `−${gone.length}` : "";
        }
        all += cell.edges.length * cell.operations.length;
        alive -= cell.wiped.filter((w) => w.epoch <= epoch).length;
        went += cell.wiped.filter((w) => w.epoch === epoch).length;
      });
      alive += all;
      if (moment) {
        const news = went ? `, ${went} wiped out in it` : "";
        moment.textContent = `after epoch ${epoch}: ${alive} of ${all} experts alive${news}`;
        slider.setAttribute("aria-valuetext", moment.textContent);
      }
      if (pointed) explain(...pointed);
    }

    function words(cell, edge) {
      const frame = cell.frames[at], row = frame.weights[edge] || [], expert = frame.chosen[edge];
      const ends = `${cell.title}, ${cell.edges[edge].from} to ${cell.edges[edge].to}`;
      const name = expert >= 0 ? cell.operations[expert] : "no operation";
      const weight = row.length && expert >= 0 ? `, weight ${percent(row[expert])}` : "";
      const state = frame.kept.includes(edge) ? "kept" : "left out";
      return `${ends}: ${name}${weight}, ${state}. ${at === last ? cell.edges[edge].reason : ""}`;
    }

    function explain(index, edge) {
      pointed = [index, edge];
      const cell = graphs.cells[index], frame = cell.frames[at], row = frame.weights[edge] || [];
      reason.replaceChildren();
      const add = (kind, text) => {
        const part = document.createElement(kind);
        part.textContent = text;
        reason.append(part);
      };
      add("b", `${cell.title}, ${cell.edges[edge].from} → ${cell.edges[edge].to}`);
      const ranked = row.map((weight, expert) => [weight, cell.operations[expert]])
        .filter(([weight]) => weight > 0).sort((one, other) => other[0] - one[0]);
      const shown = ranked.slice(0, 4).map(([weight, name]) => `${name} ${percent(weight)}`);
      if (shown.length) {
        const rest = ranked.length > 4 ? `, and ${ranked.length - 4} more` : "";
        add("div", `After epoch ${graphs.epochs[at]}: ${shown.join(", ")}${rest}.`);
      }
      const gone = goneBy(cell, edge, graphs.epochs[at]);
      if (gone.length) {
        const list = gone.map((w) => {
          const round = w.round ? `, round ${w.round}` : "";
          return `${cell.operations[w.expert]} (epoch ${w.epoch}${round})`;
        });
        add("div", `Wiped out: ${list.join(", ")}.`);
      }
      if (cell.edges[edge].reason) add("div", cell.edges[edge].reason);
      for (const mark of figure.querySelectorAll(".active")) mark.classList.remove("active");
      for (const mark of sections[index].querySelectorAll(`[data-edge="${edge}"]`)) {
        mark.classList.add("active");
      }
    }

    sections.forEach((section, index) => {
      for (const mark of section.querySelectorAll("[data-edge]")) {
        const edge = Number(mark.dataset.edge);
        for (const event of ["mouseenter", "focus", "click"]) {
          mark.addEventListener(event, () => explain(index, edge));
        }
      }
    });
    if (slider) {
      const move = (place) => { at = place; slider.value = String(place); show(); };
      slider.addEventListener("input", () => move(Number(slider.value)));
      const play = document.getElementById("play");
      let timer = 0;
      const stop = () => {
        clearInterval(timer);
        timer = 0;
        play.textContent = "Play";
        play.setAttribute("aria-pressed", "false");
      };
      play.addEventListener("click", () => {
        if (timer) { stop(); return; }
        if (at === last) move(0);
        play.textContent = "Pause";
        play.setAttribute("aria-pressed", "true");
        timer = setInterval(() => { if (at < last) move(at + 1); else stop(); },
          Math.max(60, Math.min(400, 6000 / graphs.epochs.length)));
      });
    }
    show();
  }

  // Charts.
  const rowsOf = (data) => data.flatMap((one) => one.x.map((x, i) => ({
    panel: one.panel, series: one.series, shape: one.shape, x, y: one.y[i],
    label: one.label ? one.label[i] : undefined,
  })).filter((row) => row.y !== null));

  function tabulate(figure, data) {
    const box = figure.querySelector(".numbers");
    if (!box || box.querySelector("table")) return;
    const names = data.map((one) => (one.panel ? `${one.panel}: ${one.series}` : one.series));
    const places = [...new Set(data.flatMap((one) => one.x))];
    const columns = data.map((one) => new Map(one.x.map((x, i) => [x, one.y[i]])));
    const scroll = document.createElement("div"), table = document.createElement("table");
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", `Numbers of ${figure.dataset.title}`);
    const head = table.createTHead().insertRow();
    for (const name of [figure.dataset.x || "place", ...names]) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const place of places) {
      const row = body.insertRow();
      row.insertCell().textContent = place;
      for (const column of columns) {
        const value = column.get(place);
        row.insertCell().textContent = value === undefined || value === null ? "" : value;
      }
    }
    scroll.append(table);
    box.append(scroll);
  }

  const figures = [...document.querySelectorAll("[data-chart]")];
  for (const figure of figures) {
    const { data } = payload.charts[figure.dataset.chart], box = figure.querySelector(".numbers");
    box.addEventListener("toggle", () => { if (box.open) tabulate(figure, data); });
    if (box.open) tabulate(figure, data);
  }

  async function draw(figure) {
    if (figure.dataset.drawn || !window.vegaEmbed) return;
    figure.dataset.drawn = "yes";
    const { spec, data } = payload.charts[figure.dataset.chart];
    const target = figure.querySelector(".drawing");
    const drawn = { ...spec, data: { values: rowsOf(data) } };
    if (drawn.facet) {
      // Few panels share the whole width, and are higher then.
      const panels = new Set(data.map((one) => one.panel)).size, few = panels < 5;
      const room = target.clientWidth - 46, fit = Math.min(5, Math.floor(room / 190));
      const columns = Math.min(panels, Math.max(few ? 1 : 2, fit)), width = Math.floor(room / columns) - 16;
      const height = few ? Math.min(230, Math.max(140, Math.round(0.45 * width))) : drawn.spec.height;
      drawn.columns = columns;
      drawn.spec = { ...drawn.spec, width, height };
    }
    // As many columns in the legend as there is room for, by the width of its labels.
    const cut = () => [...target.querySelectorAll(".role-legend-label text")].some((label) =>
      label.getBoundingClientRect().right > target.getBoundingClientRect().right);
    let columns = Math.max(2, Math.floor((target.clientWidth - 20) / 120));
    do await embed(target, drawn, columns); while (cut() && --columns);
  }

  function embed(target, drawn, columns) {
    return window.vegaEmbed(target, drawn, {
      actions: false, renderer: "svg", ast: false,
      config: {
        background: null, view: { stroke: null },
        font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif",
        axis: { labelFontSize: 11, titleFontSize: 11, titleFontWeight: "normal", gridColor: "#dde1e6",
          domainColor: "#8a929b", tickColor: "#8a929b", labelFlush: false, tickCount: 5 },
        axisX: { grid: false }, legend: { labelFontSize: 12, labelLimit: 220, symbolOpacity: 1, columnPadding: 12,
          columns },
        header: { labelFontSize: 11, labelFontWeight: 600 },
      },
    });
  }

  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 20));
  const waiting = figures.filter((figure) => figure.querySelector(".drawing"));
  (async () => {
    for (const figure of waiting) {
      await new Promise((resolve) => idle(resolve, { timeout: 300 }));
      try { await draw(figure); } catch (error) { console.error(error); }
    }
    document.documentElement.dataset.ready = "yes";
  })();

  // Paper cannot be clicked: what is folded is shown on it, except numbers that charts show.
  let opened = [];
  addEventListener("beforeprint", () => {
    waiting.forEach(draw);
    opened = [...document.querySelectorAll("details:not([open]):not(.numbers)")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });

  // Few columns need fewer digits; a resized window lays its grids and legends out again.
  let width = wide(), pending = 0;
  addEventListener("resize", () => {
    clearTimeout(pending);
    pending = setTimeout(() => {
      if (wide() === width) return;
      width = wide();
      for (const figure of waiting) {
        if (figure.dataset.drawn) {
          delete figure.dataset.drawn;
          draw(figure);
        }
      }
    }, 250);
  });
})();
