/** Commands and code that write and read one stream. Secrets come from the environment. */
import { inShell, quoted } from "../keys/snippets.ts";

export const LANGUAGES = [
  ["curl", "curl"],
  ["parley", "parley"],
  ["eventsource", "EventSource"],
] as const;
export type Language = (typeof LANGUAGES)[number][0];

interface Parts {
  readonly app: string;
  readonly channel: string;
  readonly contentType: string;
  readonly isClosed: boolean;
  /** The address of the service, as `https://realtime.example.com`. */
  readonly origin: string;
}

/** Slashes of a name may stay: the address is read to its end. */
const streamUrl = ({ origin, channel }: Parts): string =>
  `${origin}/v1/stream/${channel.split("/").map(encodeURIComponent).join("/")}`;

const media = (contentType: string): string => contentType.split(";", 1)[0] ?? "";

/** Something to write, in the stream's own form. */
function example(contentType: string): string {
  const type = media(contentType);
  if (type === "application/json") return inShell('{"text":"hello"}');
  return type.startsWith("text/") ? inShell("hello") : "@FILE";
}

/** Short lines: a card is half a page wide. */
const asKey = (flags: string): string => `curl ${flags} -H "Authorization: Bearer $PARLEY_KEY" \\`;

const lines = (...all: readonly (string | false)[]): string => all.filter((line) => line !== false).join("\n");

const SNIPPETS: Readonly<Record<Language, (parts: Parts) => string>> = {
  curl: (parts) =>
    lines(
      "export PARLEY_KEY='sk_id_…:sk_secret_…'",
      "",
      "# All of it, then what follows, as it is written",
      asKey("-sN"),
      `  ${inShell(`${streamUrl(parts)}?offset=-1&live=sse`)}`,
      !parts.isClosed && "",
      !parts.isClosed && "# Write to it",
      !parts.isClosed && asKey("-s"),
      !parts.isClosed &&
        `  -H ${inShell(`Content-Type: ${parts.contentType}`)} --data-binary ${example(parts.contentType)} \\`,
      !parts.isClosed && `  ${inShell(streamUrl(parts))}`,
    ),
  parley: ({ app, channel }) =>
    lines(
      "# Its size, its producers, and who reads it now",
      `parley streams show ${inShell(channel)} --app ${app}`,
      "",
      "# Its messages as they are written, over WebSocket",
      `parley listen ${inShell(channel)} --app ${app}`,
    ),
  eventsource: (parts) =>
    lines(
      "// In a page. A browser cannot send headers here: the token of the user is in the address.",
      'const { token } = await (await fetch("/token", { method: "POST" })).json();',
      `const url = ${quoted(`${streamUrl(parts)}?offset=-1&live=sse&token=`)} + token;`,
      "const source = new EventSource(url);",
      `source.addEventListener("data", ({ data }) => console.log(${media(parts.contentType) === "application/json" ? "JSON.parse(data)" : "data"}));`,
    ),
};

export const snippet = (parts: Parts, language: Language): string => SNIPPETS[language](parts);
