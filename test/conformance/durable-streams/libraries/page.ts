/** The programs of docs/streams.md, as they are printed: only addresses and keys are those of the test. */
import { blocks } from "../../../docs/support/page.ts";

const PAGE = "docs/streams.md";

export interface Place {
  readonly url: string;
  readonly credential: string;
  /** The port on which the server for Yjs listens. */
  readonly port?: number;
}

/** The blocks of JavaScript under a heading. */
export function programsOf(heading: string, { url, credential, port = 4438 }: Place): string[] {
  return blocks(PAGE)
    .filter((block) => block.language === "js" && block.heading === heading)
    .map(({ text }) =>
      text
        .replaceAll("http://localhost:8080", url)
        .replaceAll("4438", String(port))
        .replaceAll("process.env.PARLEY_KEY", JSON.stringify(credential)),
    );
}
