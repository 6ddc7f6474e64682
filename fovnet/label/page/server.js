// Requests to the server, one after another for actions, so that each knows the revision before it.

export const session = sessionStorage.session ||= [...crypto.getRandomValues(new Uint8Array(8))]
  .map(byte => byte.toString(16).padStart(2, "0")).join("");

export class Refused extends Error {
  constructor(status, told) {
    super(told.sentence || `The server answers ${status}.`);
    this.status = status;
  }
}

async function answer(address, how) {
  let reply;
  try {
    reply = await fetch(address, how);
  } catch {
    throw new Refused(0, { sentence: "The server does not answer. Everything up to your last action is saved; start the same command again, and open the new address." });
  }
  if (reply.ok) return reply;
  const text = await reply.text();
  let told = { sentence: text.slice(0, 300) };
  try { told = JSON.parse(text); } catch { /* it is a sentence */ }
  throw new Refused(reply.status, told);
}

export async function get(address) {
  const joint = address.includes("?") ? "&" : "?";
  return (await answer(`${address}${joint}session=${session}`)).json();
}

export async function picture(address) {
  const reply = await answer(address);
  return { bitmap: await createImageBitmap(await reply.blob()), wide: Number(reply.headers.get("Wide-To-High") || 1) };
}

let last = Promise.resolve();

// The answer to an action; `action()` is asked for it when all before it are answered.
export function act(index, action) {
  const mine = last.then(async () => (await answer(`/volumes/${index}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ session, ...action() }),
  })).json());
  last = mine.catch(() => {});
  return mine;
}
