/** One browser for all test files of a process. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { closeAtEndOfRun, IS_SHARING } from "../../support/run.ts";

/** A second one is launched only after the first has crashed. */
export function oneForAll(launch: () => Promise<Browser>): () => Promise<Browser> {
  let shared: Promise<Browser> | undefined;
  return async () => {
    if (!IS_SHARING) return launch();
    if (shared && !(await shared).isConnected()) shared = undefined;
    shared ??= launch().then((browser) => {
      closeAtEndOfRun(() => browser.close());
      return browser;
    });
    return borrowed(await shared);
  };
}

/** To close it closes only what was opened through it. */
function borrowed(browser: Browser): Browser {
  const contexts = new Set<BrowserContext>();
  const newContext = async (options?: BrowserContextOptions): Promise<BrowserContext> => {
    const context = await browser.newContext(options);
    contexts.add(context);
    context.on("close", () => contexts.delete(context));
    return context;
  };
  const close = async (): Promise<void> => {
    await Promise.all([...contexts].map((context) => context.close()));
  };
  const own = {
    newContext,
    newPage: async (options?: BrowserContextOptions): Promise<Page> => (await newContext(options)).newPage(),
    contexts: () => [...contexts],
    close,
    [Symbol.asyncDispose]: close,
  };
  return new Proxy(browser, {
    get: (target, name) => {
      if (Object.hasOwn(own, name)) return own[name as keyof typeof own];
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
