/** The size of the package in an application, minified and compressed, for each of its parts. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EmptyProject, PROJECT } from "./support/project.ts";

setDefaultTimeout(60_000);

const CORE_MAX_BYTES = 9152;
/** Without the core and React. */
const REACT_MAX_BYTES = 2048;

let project: EmptyProject;

beforeAll(async () => {
  project = await EmptyProject.withBuild();
});

afterAll(() => project?.remove());

const PAGE = readFileSync(join(PROJECT, "docs/client.md"), "utf8");

/** docs/client.md says how large each part is; compressors differ a little. */
function expectStated(name: string, bytes: number): void {
  const [, stated = ""] = new RegExp(`^\\| \`${name}\` \\| ([\\d,]+)`, "m").exec(PAGE) ?? [];
  expect([name, Math.abs(Number(stated.replaceAll(",", "")) - bytes) <= Math.max(50, bytes * 0.03)]).toEqual([
    name,
    true,
  ]);
}

interface Bundled {
  readonly text: string;
  readonly gzipBytes: number;
}

/** What a bundler makes of an application with these imports and nothing else. */
async function bundled(name: string, imports: string): Promise<Bundled> {
  project.write(`${name}.js`, imports);
  return measured(`${name}.js`);
}

async function measured(entry: string, external: readonly string[] = []): Promise<Bundled> {
  const { outputs } = await Bun.build({
    entrypoints: [join(project.folder, entry)],
    target: "browser",
    minify: true,
    external: [...external],
    throw: true,
  });
  const text = (await outputs[0]?.text()) ?? "";
  return { text, gzipBytes: Bun.gzipSync(text, { level: 9 }).length };
}

const CORE = 'import { Parley } from "parley-client"; globalThis.parley = new Parley(globalThis.options);';
/** A name of each part that survives the minifier. */
const PARTS = {
  queue: {
    imports: 'import { OfflineQueue } from "parley-client/queue"; new OfflineQueue();',
    sign: "message_expired",
  },
  history: { imports: 'import { messagesOf } from "parley-client/history"; messagesOf(parley);', sign: "before:" },
  http: { imports: 'import { HttpSocket } from "parley-client/http"; new HttpSocket("");', sign: "bufferedAmount" },
  state: { imports: 'import { stateOf } from "parley-client/state"; stateOf(parley);', sign: "channel_not_authorized" },
} as const;

describe("the size of an application", () => {
  test(`with the core is at most ${CORE_MAX_BYTES} bytes`, async () => {
    const { gzipBytes } = await bundled("core", CORE);
    console.log(`core: ${gzipBytes} bytes`);
    expectStated("parley-client", gzipBytes);
    expect(gzipBytes).toBeLessThanOrEqual(CORE_MAX_BYTES);
  });

  test("grows by a part only if the part is imported", async () => {
    const core = await bundled("core", CORE);
    for (const [name, { imports, sign }] of Object.entries(PARTS)) {
      expect([name, core.text.includes(sign)]).toEqual([name, false]);
      const more = await bundled(name, `${CORE} ${imports}`);
      expect([name, more.text.includes(sign)]).toEqual([name, true]);
      console.log(`core with ${name}: ${more.gzipBytes} bytes, ${more.gzipBytes - core.gzipBytes} more`);
      expectStated(`parley-client/${name}`, more.gzipBytes - core.gzipBytes);
    }
  });

  test("is zero if nothing of the package is used", async () => {
    const all = ["", "/queue", "/history", "/state", "/http"].map((part) => `import "parley-client${part}";`);
    expect((await bundled("unused", all.join("\n"))).text.trim()).toBe("");
  });

  test(`grows by at most ${REACT_MAX_BYTES} bytes with React's hooks`, async () => {
    // The hooks import modules of the core from the folder above theirs.
    const hooks = await measured("node_modules/parley-client/dist/react/react.js", ["react", "../*"]);
    expect(hooks.text).toMatch(/from"\.\.\/parley\.js"/);
    console.log(`react: ${hooks.gzipBytes} bytes`);
    expectStated("parley-client/react", hooks.gzipBytes);
    expect(hooks.gzipBytes).toBeLessThanOrEqual(REACT_MAX_BYTES);
  });
});
