/** examples/react-chat in a folder of its own, with the packed client, and its pages in a browser. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { EmptyProject } from "../../client/support/project.ts";
import { until } from "../../support/wait.ts";
import { Child } from "./child.ts";
import { PROJECT } from "./page.ts";

const EXAMPLE = join(PROJECT, "examples/react-chat");
const PACKAGES = ["react", "react-dom", "scheduler", "@types/react", "@types/react-dom", "csstype"];

/** A copy of the example; what npm would download for it is linked from our own folder. Remove it at the end of the tests. */
export async function copyOfExample(): Promise<EmptyProject> {
  const project = await EmptyProject.withBuild();
  project.link(...PACKAGES);
  for (const name of ["src", "server.mjs", "index.html", "tsconfig.json"])
    cpSync(join(EXAMPLE, name), join(project.folder, name), { recursive: true });
  return project;
}

/** As `npm run build` does, but without Vite, and with the warnings of React's development build. */
export async function build(folder: string): Promise<void> {
  const { outputs } = await Bun.build({
    entrypoints: [join(folder, "src/main.tsx")],
    target: "browser",
    define: { "process.env.NODE_ENV": '"development"' },
    throw: true,
  });
  mkdirSync(join(folder, "dist"));
  const html = readFileSync(join(folder, "index.html"), "utf8");
  writeFileSync(join(folder, "dist/main.js"), (await outputs[0]?.text()) ?? "");
  writeFileSync(
    join(folder, "dist/index.html"),
    html.replace("/src/main.tsx", "/main.js").replace("/src/style.css", "/style.css"),
  );
  cpSync(join(folder, "src/style.css"), join(folder, "dist/style.css"));
}

export interface Backend extends AsyncDisposable {
  readonly port: string;
  readonly url: string;
}

export async function startBackend(
  folder: string,
  env: Readonly<Record<string, string>>,
  port = "0",
): Promise<Backend> {
  const child = new Child(["node", join(folder, "server.mjs")], { env: { ...env, PORT: port } });
  const [, bound = ""] = await child.writes(/open http:\/\/localhost:(\d+)/);
  return {
    port: bound,
    url: `http://127.0.0.1:${bound}`,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

/** One tab of the chat. Everything is done with the keyboard. */
export class ChatTab {
  private constructor(
    readonly page: Page,
    readonly faults: string[],
  ) {}

  static async open(context: BrowserContext, url: string, name: string): Promise<ChatTab> {
    const page = await context.newPage();
    const tab = new ChatTab(page, []);
    page.on("pageerror", (error) => tab.faults.push(String(error)));
    page.on("console", (message) => {
      // What Chromium says about connections that fail.
      if (/WebSocket connection to|Failed to load resource/.test(message.text())) return;
      if (["error", "warning"].includes(message.type())) tab.faults.push(message.text());
    });
    await page.goto(url);
    await page.waitForSelector("#name:focus");
    await page.keyboard.type(name);
    await page.keyboard.press("Enter");
    await tab.isConnected();
    return tab;
  }

  isConnected = () => this.page.waitForSelector('[data-state="connected"]', { state: "attached" });
  isReconnecting = () => this.page.waitForSelector('[data-state="reconnecting"]');

  /** The newest message is seen. */
  async isAtEnd(): Promise<void> {
    await this.page.waitForFunction(
      '(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight < 2)(document.querySelector(".messages"))',
    );
  }

  async type(text: string): Promise<void> {
    await this.page.focus("[aria-label=Message]");
    await this.page.keyboard.type(text);
  }

  async say(text: string): Promise<void> {
    await this.type(text);
    await this.page.keyboard.press("Enter");
  }

  /** `name: text` of every message, and `gap`. */
  lines(): Promise<string[]> {
    return this.page.evaluate<string[]>(
      `[...document.querySelectorAll(".messages li")].map((line) => line.className === "gap" ? "gap"
        : line.querySelector("b").textContent + ": " + line.querySelector(".text").textContent)`,
    );
  }

  async lists(...lines: string[]): Promise<void> {
    const isSame = async (): Promise<boolean> => Bun.deepEquals(await this.lines(), lines);
    await until(`it lists ${JSON.stringify(lines)}`, isSame).catch(async ({ message }) => {
      throw new Error(`${message}, but ${JSON.stringify(await this.lines())}`);
    });
  }

  async shows(selector: string, text: string): Promise<void> {
    const shown = (): Promise<string> => this.page.locator(selector).innerText();
    await until(`${selector} shows ${text}`, async () => (await shown()) === text);
  }
}
