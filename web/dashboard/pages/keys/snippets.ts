/** Programs to copy, with the real names: host, key, a channel that the key covers. Secrets come from the environment. */
import type { Key } from "../../api/types.ts";
import { exampleChannel } from "../../drafts/scope.ts";

/** Our own client first; `js` is the public SDK, which addresses of before 0.2.0 name too. */
export const LANGUAGES = [
  ["client", "parley-client"],
  ["js", "Public SDK"],
  ["python", "Python"],
  ["curl", "curl"],
] as const;
export type Language = (typeof LANGUAGES)[number][0];

export const quoted = (text: string): string => JSON.stringify(text);
/** For a shell: nothing in single quotes is read by it. */
export const inShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export function snippet(key: Key, origin: string, language: Language): string {
  const parts = { key, origin, channel: exampleChannel(key.channelPatterns) };
  return (key.type === "publishable" ? PUBLISHABLE : SECRET)[language](parts);
}

interface Parts {
  readonly key: Key;
  /** The address of the service, as `https://realtime.example.com`. */
  readonly origin: string;
  readonly channel: string;
}

const lines = (...all: readonly (string | false)[]): string => all.filter((line) => line !== false).join("\n");
const may = ({ actions }: Key, action: string): boolean => actions.includes(action);

/** Each run publishes once, at its start: only those that run already receive it. */
const runTwice = (key: Key): string =>
  may(key, "subscribe") && may(key, "publish")
    ? " Run it in two terminals: the first one prints what the second one publishes."
    : "";

/** What a page does to get the token that the function in the backend has made. */
const FETCHED = '(await (await fetch("/token", { method: "POST" })).json()).token';

const inBackend = ({ key, origin, channel }: Parts): string =>
  lines(
    `// In your backend, with PARLEY_KEY=${key.keyId}:sk_secret_… in its environment:`,
    "// a token for the user who is signed in.",
    "async function connectToken(peerId) {",
    `  const response = await fetch(${quoted(`${origin}/v1/tokens`)}, {`,
    '    method: "POST",',
    '    headers: { Authorization: "Bearer " + process.env.PARLEY_KEY },',
    `    body: JSON.stringify({ peerId, channels: [${quoted(channel)}] }),`,
    "  });",
    "  return (await response.json()).token;",
    "}",
  );

const PUBLISHABLE: Readonly<Record<Language, (parts: Parts) => string>> = {
  client: ({ key, origin, channel }) =>
    lines(
      `// npm install parley-client.${runTwice(key)}`,
      'import { Parley } from "parley-client";',
      "",
      `const parley = new Parley({ url: ${quoted(origin)}, key: ${quoted(key.keyId)} });`,
      'parley.on("status", ({ state }) => console.log(state));',
      `const channel = parley.channel(${quoted(channel)});`,
      may(key, "subscribe") && 'channel.on("message", ({ from, data }) => console.log(from, data));',
      may(key, "subscribe") && "await channel.subscribed;",
      may(key, "publish") && 'await channel.publish({ text: "hello" });',
      !may(key, "subscribe") && !may(key, "publish") && "parley.connect();",
    ),
  js: ({ key, origin, channel }) =>
    lines(
      `// npm install @metered-ca/realtime.${runTwice(key)}`,
      'import { SignallingClient } from "@metered-ca/realtime";',
      "",
      `const client = new SignallingClient({ url: ${quoted(origin.replace(/^http/, "ws"))}, apiKey: ${quoted(key.keyId)} });`,
      'client.on("message", ({ channel, data }) => console.log(channel, data));',
      "await client.connect();",
      'console.log("connected");',
      may(key, "subscribe") && `await client.subscribe(${quoted(channel)});`,
      may(key, "publish") && `await client.publish(${quoted(channel)}, { text: "hello" });`,
    ),
  python: ({ key, origin, channel }) =>
    lines(
      `# pip install metered-realtime.${runTwice(key)}`,
      "import asyncio",
      "from metered_realtime import Message, SignallingClient",
      "",
      "async def main():",
      `    url = ${quoted(origin.replace(/^http/, "ws"))}`,
      `    async with SignallingClient(url=url, api_key=${quoted(key.keyId)}) as client:`,
      '        print("connected")',
      "        client.on(Message)(lambda message: print(message.channel, message.data))",
      may(key, "subscribe") && `        await client.subscribe(${quoted(channel)})`,
      may(key, "publish") && `        await client.publish(${quoted(channel)}, {"text": "hello"})`,
      "        await asyncio.sleep(60)",
      "",
      "asyncio.run(main())",
    ),
  curl: ({ key, origin }) =>
    lines(
      "# May a page of this origin connect? 426 upgrade_required means yes; else the answer says why not.",
      `curl -s ${inShell(`${origin}/v1?key=${key.keyId}`)} -H ${inShell(`Origin: ${key.allowedOrigins?.[0]?.replace("*", "www") || "https://shop.example.com"}`)}`,
    ),
};

const SECRET: Readonly<Record<Language, (parts: Parts) => string>> = {
  client: (parts) =>
    lines(
      inBackend(parts),
      "",
      "// In the page:",
      'import { Parley } from "parley-client";',
      "const parley = new Parley({",
      `  url: ${quoted(parts.origin)},`,
      `  token: async () => ${FETCHED},`,
      "});",
    ),
  js: (parts) =>
    lines(
      inBackend(parts),
      "",
      "// In the page:",
      'import { SignallingClient } from "@metered-ca/realtime";',
      "const client = new SignallingClient({",
      `  url: ${quoted(parts.origin.replace(/^http/, "ws"))},`,
      `  tokenProvider: async () => ${FETCHED},`,
      "});",
    ),
  python: ({ key, origin, channel }) =>
    lines(
      `# In your backend, with PARLEY_KEY=${key.keyId}:sk_secret_… in its environment`,
      "import json, os, urllib.request",
      "",
      "def connect_token(peer_id):",
      "    request = urllib.request.Request(",
      `        ${quoted(`${origin}/v1/tokens`)},`,
      `        data=json.dumps({"peerId": peer_id, "channels": [${quoted(channel)}]}).encode(),`,
      '        headers={"Authorization": "Bearer " + os.environ["PARLEY_KEY"]},',
      "    )",
      "    with urllib.request.urlopen(request) as response:",
      '        return json.load(response)["token"]',
    ),
  curl: ({ key, origin, channel }) =>
    lines(
      `export PARLEY_KEY='${key.keyId}:sk_secret_…'`,
      "",
      "# A connect token for one of your users",
      `curl -s ${inShell(`${origin}/v1/tokens`)} -H "Authorization: Bearer $PARLEY_KEY" \\`,
      `  -d ${inShell(JSON.stringify({ peerId: "alice", channels: [channel] }))}`,
      may(key, "publish") && "",
      may(key, "publish") && "# A message to everyone on the channel",
      may(key, "publish") &&
        `curl -s ${inShell(`${origin}/v1/channels/${encodeURIComponent(channel)}/publish`)} -H "Authorization: Bearer $PARLEY_KEY" \\`,
      may(key, "publish") && `  -d ${inShell(JSON.stringify({ data: { text: "hello" } }))}`,
    ),
};
