/**
 * The suite knows nothing of credentials: each of its requests to the service gets a secret key here. With several nodes, requests go to them
 * in turn, so that each node reads what another one has written.
 */
const urls = (process.env.PARLEY_TEST_STREAM_URLS ?? "").split(",");
const credential = process.env.PARLEY_TEST_STREAM_KEY ?? "";
const [first = ""] = urls;
const plain = globalThis.fetch;
let requests = 0;

function withCredential(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const url = input instanceof Request ? input.url : String(input);
  if (!url.startsWith(first)) return plain(input, init);
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  headers.set("Authorization", `Bearer ${credential}`);
  const node = urls[requests++ % urls.length] ?? first;
  const to = node + url.slice(first.length);
  return plain(input instanceof Request ? new Request(to, input) : to, { ...init, headers });
}

globalThis.fetch = Object.assign(withCredential, plain);
