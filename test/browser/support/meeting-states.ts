/** web/meeting/testing/states.tsx: every state of the page of a meeting, without a service, with the policy that the page has. */
import { afterAll, beforeAll } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { contentSecurityPolicy } from "../../../src/http/pages/pages.ts";
import type { Visitor } from "./visitor.ts";

const WEB = join(import.meta.dir, "../../../web");

export interface MeetingStates {
  open(visitor: Visitor, state: string, language?: string): Promise<void>;
  names(visitor: Visitor): Promise<string[]>;
}

/** For the tests of a file. */
export function meetingStates(): MeetingStates {
  let site: Bun.Server<undefined> | undefined;

  beforeAll(async () => {
    const { outputs } = await Bun.build({
      entrypoints: [join(WEB, "meeting/testing/states.html")],
      root: join(WEB, "meeting/testing"),
      publicPath: "/",
      target: "browser",
    });
    const files = new Map(outputs.map((file) => [file.path.replace(/^\.?\//, ""), file]));
    site = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) => {
        const file = files.get(new URL(url).pathname.slice(1));
        if (!file) return new Response(null, { status: 404 });
        return new Response(file, { headers: { "Content-Security-Policy": contentSecurityPolicy() } });
      },
    });
  });
  afterAll(() => site?.stop(true));

  const open = async (visitor: Visitor, state: string, language = "en"): Promise<void> => {
    await visitor.page.goto(`http://127.0.0.1:${site?.port}/states.html?state=${state}&lang=${language}`);
    await visitor.page.locator("body[data-ready]").waitFor();
    await visitor.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  };
  return {
    open,
    names: async (visitor) => {
      await open(visitor, "over");
      return visitor.page.evaluate<string[]>("stateNames");
    },
  };
}

/** Texts that are missing, or too wide, or of another language. */
export async function textFaults(page: Page, state: string, language: string): Promise<string[]> {
  const { text, sideways, lang } = await page.evaluate<{ text: string; sideways: number; lang: string }>(
    `({ text: document.body.innerText, sideways: document.documentElement.scrollWidth - innerWidth, lang: document.documentElement.lang })`,
  );
  return [
    ...(/[{}]|undefined|NaN/.test(text) ? [`${state}: ${text}`] : []),
    ...(sideways > 0 ? [`${state}: scrolls sideways by ${sideways} px`] : []),
    ...(lang === language ? [] : [`${state}: is in ${lang}`]),
  ];
}
