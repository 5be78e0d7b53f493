// The page: sign-in, the conversation, and one bubble for each answer.
import { ask, Refused } from "/page/stream.js";
import { TEXTS } from "/page/texts.js";
import { bubble } from "/page/bubble.js";

const TOKEN = "switchyard.token";
const el = (id) => document.getElementById(id);
const randomName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

let language = navigator.language.startsWith("zh") ? "zh" : "en";
let token = sessionStorage.getItem(TOKEN) ?? "";
let session = randomName();
let running = new Set();

function show() {
  const texts = TEXTS[language];
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = texts[node.dataset.text];
  el("language").textContent = texts.other;
  el("language").lang = language === "zh" ? "en" : "zh-CN";
  el("query").placeholder = texts.placeholder;
  el("ideas").replaceChildren(...texts.ideas.map(idea));
  el("signin").hidden = token !== "";
  el("ask").hidden = token === "";
  el("ideas").hidden = token === "";
  el("leave").hidden = token === "";
  el("fresh").hidden = !el("log").hasChildNodes();
  el("welcome").hidden = el("log").hasChildNodes();
}

function idea(text) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", () => send(text, randomName()));
  return button;
}

function signOut() {
  sessionStorage.removeItem(TOKEN);
  token = "";
  forget();
  el("token").focus();
}

function forget() {
  for (const one of running) one.abort();
  running = new Set();
  session = randomName();
  el("log").replaceChildren();
  el("lane").hidden = true;
  show();
}

async function send(query, messageId) {
  const texts = TEXTS[language];
  const answer = bubble(el("log"), query, texts);
  show();
  answer.scroll();
  const abort = new AbortController();
  running.add(abort);
  let done = false;
  try {
    const body = { query, session, message_id: messageId };
    for await (const event of ask(token, body, abort.signal)) {
      if (event.kind === "meta") answer.meta(event.data), lane(event.data.lane);
      if (event.kind === "delta") answer.more(event.data.text);
      if (event.kind === "done") (done = true), answer.done(event.data);
    }
    if (!done) answer.failed(texts.broken);
  } catch (error) {
    if (abort.signal.aborted) return;
    if (error instanceof Refused) answer.failed(`${error.message} — ${error.remedy}`);
    else answer.failed(answer.begun() ? texts.broken : texts.noNetwork);
    if (error.http === 401) signInAgain();
  } finally {
    running.delete(abort);
  }
  // The same message id: whatever came through the first time is not done twice.
  answer.offerAgain(() => send(query, messageId));
}

function signInAgain() {
  sessionStorage.removeItem(TOKEN);
  token = "";
  show();
  el("token").focus();
}

function lane(name) {
  el("lane").textContent = name;
  el("lane").hidden = false;
}

function grow() {
  el("query").style.height = "auto";
  el("query").style.height = `${el("query").scrollHeight + 2}px`;
}

el("signin").addEventListener("submit", (event) => {
  event.preventDefault();
  token = el("token").value.trim();
  if (!/^[\x21-\x7e]+$/.test(token)) token = "";
  el("token").value = "";
  if (token) sessionStorage.setItem(TOKEN, token);
  show();
  el(token ? "query" : "token").focus();
});

el("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = el("query").value.trim();
  if (!query) return;
  el("query").value = "";
  grow();
  send(query, randomName());
});

el("query").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  el("ask").requestSubmit();
});

el("query").addEventListener("input", grow);
el("leave").addEventListener("click", signOut);
el("fresh").addEventListener("click", forget);
el("language").addEventListener("click", () => {
  language = language === "zh" ? "en" : "zh";
  show();
});

show();
