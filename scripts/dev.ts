/**
 * `npm run dev`: `parley up`, with pages that are built again when a file of web/ or client/src has changed, so that a reload in the
 * browser shows the change. Arguments are those of `parley up`.
 */
import { runUp } from "../src/cli/commands/server/up.ts";
import { parseCommand } from "../src/cli/dispatch.ts";
import { reportOf } from "../src/cli/line/errors.ts";
import { Input } from "../src/cli/line/input.ts";
import { Output } from "../src/cli/terminal/output.ts";
import { loadBundle, type PageName } from "../src/http/pages/bundle.ts";
import { type Fill, type PageResponse, type PageServer, Pages } from "../src/http/pages/pages.ts";
import type { Call } from "../src/http/request/call.ts";
import { VERSION } from "../src/version.ts";

/** Looks at the sources with every page that is requested. Watching them instead could serve a reload before the build has ended. */
class FreshPages implements PageServer {
  constructor(private built: Pages) {}

  page(name: PageName, call: Call, fill?: Fill, own?: PageResponse): Promise<Response> {
    return this.fresh((pages) => pages.page(name, call, fill, own));
  }

  asset(call: Call): Response {
    return this.built.asset(call);
  }

  client(call: Call): Promise<Response> {
    return this.fresh((pages) => pages.client(call));
  }

  docs(path: string, call: Call): Promise<Response> {
    return this.fresh((pages) => pages.docs(path, call));
  }

  private async fresh(serve: (pages: Pages) => Response | Promise<Response>): Promise<Response> {
    try {
      this.built = new Pages(await loadBundle(), VERSION);
    } catch (error) {
      // Where the change was made, in the browser too: the next reload after a correction shows the page.
      const text = error instanceof Error ? error.message : String(error);
      console.error(text);
      return new Response(text, { status: 500, headers: { "Content-Type": "text/plain; charset=utf-8" } });
    }
    return serve(this.built);
  }
}

try {
  const { command, operands, flags, repeated } = parseCommand(["up", ...process.argv.slice(2)]);
  const input = new Input(operands, flags, process.env, repeated);
  // Anything but "up" is its help.
  if (command.name === "up") await runUp(input, async () => new FreshPages(new Pages(await loadBundle(), VERSION)));
  else await new Output(false).result((await (await command.load())(input)) ?? { value: {}, text: "" });
} catch (error) {
  const report = reportOf(error);
  if (!report) throw error;
  await new Output(false).failure(report);
  process.exit(report.exitCode);
}
