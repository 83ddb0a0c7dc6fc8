/** Colours, where they help: on a terminal, unless its user does not want them. */

type Env = Readonly<Record<string, string | undefined>>;

/** https://no-color.org and https://force-color.org: either variable counts if it is not empty. `NO_COLOR` wins. */
export function hasColours(stream: { readonly isTTY?: boolean }, env: Env): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return !["0", "false"].includes(env.FORCE_COLOR);
  return stream.isTTY === true && env.TERM !== "dumb";
}

const RESET = "\x1b[0m";
const CODES = { bold: "\x1b[1m", dim: "\x1b[2m", cyan: "\x1b[36m" } as const;

export type Paint = (colour: keyof typeof CODES, text: string) => string;

/** Paints, or leaves texts as they are. */
export const painter =
  (isColoured: boolean): Paint =>
  (colour, text) =>
    isColoured && text !== "" ? `${CODES[colour]}${text}${RESET}` : text;
