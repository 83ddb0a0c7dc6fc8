/** Finds web addresses in texts of others. Only http and https become links; everything else stays text. */

export interface Part {
  readonly text: string;
  readonly href?: string;
}

/** An address ends before the punctuation of the sentence around it. */
const ADDRESS = /\bhttps?:\/\/[^\s<>"'`\p{Cc}\p{Bidi_Control}]+/giu;
const TRAILING = ".,;:!?)]}…»”’";

export function partsOf(text: string): readonly Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(ADDRESS)) {
    const address = trimmed(match[0]);
    if (!isWebAddress(address)) continue;
    if (match.index > end) parts.push({ text: text.slice(end, match.index) });
    parts.push({ text: leadsWhereItSays(address) ? address : new URL(address).href, href: address });
    end = match.index + address.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end) });
  return parts;
}

/** A closing bracket belongs to the address if it has the opening one: https://en.wikipedia.org/wiki/Mesh_(topology). */
function trimmed(address: string): string {
  // From the end: a pattern that ends with `$` would try each run of punctuation within the address to its own end.
  let end = address.length;
  while (end > 0 && TRAILING.includes(address.charAt(end - 1))) end--;
  const keepsBracket = address[end] === ")" && address.includes("(");
  return address.slice(0, keepsBracket ? end + 1 : end);
}

/** Letters of other scripts look like Latin ones, and other full stops like dots: then the text of the link is what the browser makes of it. */
const leadsWhereItSays = (address: string): boolean =>
  address.toLowerCase().startsWith(`${new URL(address).protocol}//${new URL(address).hostname}`);

function isWebAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname, username, password } = new URL(address);
  // `https://bank.example@evil.example` looks like another host.
  return /^https?:$/.test(protocol) && hostname !== "" && username === "" && password === "";
}
