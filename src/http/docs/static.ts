/** The documentation as a folder of files, for any web server or none: every address is relative, and pages work when they are opened as files. */
import { type DocsFile, NOT_FOUND, type Placement } from "./site.ts";

const upFrom = (page: string): string => "../".repeat(page.split("/").length - 1);

/** `shell` is the page of the service: in a folder its styles and scripts are beside it, and there is no service to recover. */
export const inFolder = (shell: string): Placement => ({
  shell: shell
    .replace(/<script src="[^"]*recover\.js"><\/script>/, "")
    .replaceAll('"/assets/', '"%assets%')
    // Browsers load modules, and anything with `crossorigin`, only from servers.
    .replace('<script type="module" crossorigin', "<script defer")
    .replaceAll(" crossorigin", ""),
  href: (from, to, isPage) => upFrom(from) + (to === "" ? "index.html" : isPage ? `${to}.html` : to),
});

/** Names of the files in the folder. The page for unknown addresses is left out: it cannot know how deep it is. */
export const filesInFolder = (rendered: ReadonlyMap<string, DocsFile>): Map<string, DocsFile["body"]> =>
  new Map(
    [...rendered]
      .filter(([path]) => path !== NOT_FOUND)
      .map(([path, { body, isPage }]) => [isPage ? `${path || "index"}.html` : path, body]),
  );
