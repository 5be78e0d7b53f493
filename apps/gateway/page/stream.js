// One question to the gateway, its answer as events.

export class Refused extends Error {
  constructor(http, error, remedy) {
    super(error);
    this.http = http;
    this.remedy = remedy;
  }
}

export async function* ask(token, body, signal) {
  const reply = await fetch("/v1/chat", {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ ...body, stream: true }),
    credentials: "omit",
    signal,
  });
  if (!reply.ok) {
    const answer = await reply.json().catch(() => ({}));
    throw new Refused(reply.status, answer.error ?? `HTTP ${reply.status}`, answer.do ?? "");
  }
  const reader = reply.body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop();
    for (const part of parts) yield read(part);
  }
}

function read(part) {
  let kind = "message";
  let data = "";
  for (const line of part.split("\n")) {
    if (line.startsWith("event: ")) kind = line.slice(7);
    if (line.startsWith("data: ")) data += line.slice(6);
  }
  return { kind, data: JSON.parse(data) };
}
