// A question and its answer on the page. Everything is put in as text, never as HTML.

function node(tag, className, text) {
  const one = document.createElement(tag);
  if (className) one.className = className;
  if (text) one.textContent = text;
  return one;
}

function seconds(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function factsTable(facts, title) {
  const box = node("details", "facts");
  box.append(node("summary", "", title));
  const table = node("table");
  for (const fact of facts) {
    const row = node("tr");
    const name = node("th", "", fact.label ?? fact.name);
    name.scope = "row";
    const flagged = fact.flag === "high" || fact.flag === "low";
    const arrow = flagged ? (fact.flag === "high" ? " ↑" : " ↓") : "";
    row.append(name, node("td", flagged ? "flagged" : "", `${fact.value} ${fact.unit ?? ""}`.trim() + arrow));
    row.append(node("td", "range", fact.reference ?? ""));
    table.append(row);
  }
  box.append(table);
  return box;
}

function sources(citations, texts) {
  const box = node("details", "sources");
  box.append(node("summary", "", texts.sources));
  const list = node("ol");
  for (const one of citations) {
    const item = node("li", "", texts.source(one.title, one.page));
    if (one.own) item.append(node("span", "own", texts.own));
    if (one.section.length) item.append(node("p", "section", one.section.join(" › ")));
    item.append(node("blockquote", "", one.quote));
    list.append(item);
  }
  box.append(list);
  return box;
}

export function bubble(log, query, texts) {
  const question = node("p", "said", query);
  const answer = node("article", "answer");
  const text = node("p", "text");
  answer.setAttribute("aria-busy", "true");
  answer.setAttribute("aria-label", texts.waiting);
  answer.append(text);
  log.append(question, answer);
  const page = log.parentElement;
  let intent = "";
  let retry = false;

  const nearEnd = () => page.scrollHeight - page.scrollTop - page.clientHeight < 120;
  const scroll = () => page.scrollTo({ top: page.scrollHeight });
  const add = (child) => {
    const follow = nearEnd();
    answer.append(child);
    if (follow) scroll();
  };
  const note = (words, kind = "") => add(node("p", `note ${kind}`.trim(), words));
  const end = () => {
    answer.setAttribute("aria-busy", "false");
    answer.removeAttribute("aria-label");
  };

  function leftOut(omitted) {
    const words = omitted.map((one) => `${texts.parts[one.what] ?? one.what} (${one.why})`);
    if (words.length) note(`${texts.omitted}: ${words.join("; ")}`, "quiet");
  }

  return {
    scroll,
    begun: () => text.textContent !== "",
    meta(data) {
      answer.lang = data.language === "zh" ? "zh-CN" : "en";
      intent = data.intent;
      if (data.facts.length) add(factsTable(data.facts, texts.facts));
      if (data.citations.length) add(sources(data.citations, texts));
      if (data.ticket) {
        const known = data.ticket.created ? "" : ` (${texts.sameTicket})`;
        add(node("p", "ticket", `${texts.ticket} ${data.ticket.id}${known}`));
      }
    },
    more(words) {
      const follow = nearEnd();
      text.append(words);
      if (follow) scroll();
    },
    done(data) {
      end();
      if (data.status === "stopped") note(texts.stopped);
      if (data.status === "degraded") note(`${texts.degraded} ${data.reason ?? ""}`.trim());
      if (data.status === "ok") leftOut(data.omitted);
      if (data.unsupported.length) note(`${texts.unsupported}: ${data.unsupported.join(", ")}`);
      retry = data.status === "degraded";
      const about = node("p", "about");
      about.append(node("span", "intent", texts.intents[intent] ?? intent));
      const { first, total } = data.latency_ms;
      about.append(node("span", "times", texts.times(seconds(first), seconds(total))));
      add(about);
    },
    failed(words) {
      end();
      retry = true;
      note(words, "bad");
    },
    offerAgain(act) {
      if (!retry) return;
      const button = node("button", "again", texts.again);
      button.type = "button";
      button.addEventListener("click", () => {
        button.remove();
        act();
      });
      add(button);
    },
  };
}
