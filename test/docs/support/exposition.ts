/** Parses Prometheus's text format into samples, as a scrape keeps them. */

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly name: string;
  readonly labels: Labels;
  readonly value: number;
}

/** The content of /metrics at one moment. */
export interface Scrape {
  readonly atSeconds: number;
  readonly samples: readonly Sample[];
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/g;

/** `target` has the labels that a scrape adds to every sample: job and instance. */
export function parseExposition(text: string, target: Labels): Sample[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name, labels = "", value] = LINE.exec(line) ?? [];
      if (name === undefined || value === undefined) throw new Error(`this is no sample: ${line}`);
      const own = Object.fromEntries([...labels.matchAll(LABEL)].map(([, key = "", text = ""]) => [key, text]));
      return {
        name,
        labels: { ...own, ...target },
        value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value),
      };
    });
}
