/**
 * How each fenced block of the pages is checked. A new block must join: name the test that runs it, or write one. `full` are run by the
 * full suite only.
 */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { blocks, PROJECT } from "./support/page.ts";

const PAGES = [
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "client/README.md"],
  ...[...new Bun.Glob("{docs,examples,deploy}/**/*.md").scanSync(PROJECT)]
    .filter((path) => !path.includes("node_modules"))
    .sort(),
];

/** Commands are parsed with the command line's own declarations, benchmarks looked up: they need other machines, or hours. */
const NAMES = "docs/names";
const OWN = "docs/page-snippets";
const GUIDES = "defaults/guides";
const EXAMPLES = "docs/examples-readme";
/** A formula, or the values that a reader puts in. */
const PROSE = "prose";

/** The blocks of a page in order: language, and the test below test/. */
const CHECKED: Readonly<Record<string, readonly (readonly [language: string, test: string])[]>> = {
  "README.md": [["sh", "defaults/install"]],
  "client/README.md": [
    ["sh", "release/install-page"],
    ["js", "docs/client"],
    ["html", OWN],
  ],
  "deploy/README.md": [["yaml", OWN]],
  "deploy/helm/parley/README.md": [
    ["sh", "release/install-page"],
    ["sh", "release/install-page"],
  ],
  "docs/architecture.md": [
    ["", OWN],
    ["mermaid", "house/architecture"],
  ],
  "docs/backend-tokens.md": [
    ["", PROSE],
    ["js", "docs/backend-tokens"],
    ["python", "docs/backend-tokens"],
    ["go", "docs/backend-tokens"],
    ["php", "docs/backend-tokens"],
    ["sh", "docs/backend-tokens"],
    ["js", OWN],
  ],
  "docs/backups.md": [
    ["sh", "docs/backups"],
    ["", "docs/backups"],
    ["", NAMES],
    ["", "docs/backups"],
    ["", NAMES],
    ["", NAMES],
  ],
  "docs/cli.md": [
    ["sh", "docs/cli"],
    ["sh", "docs/cli"],
    ["sh", "docs/cli"],
    ["sh", "docs/cli"],
    ["sh", OWN],
  ],
  "docs/client-script.md": [
    ["html", "docs/client-script"],
    ["html", "docs/client-script"],
    ["", "docs/client-script"],
  ],
  "docs/client.md": [
    ["sh", GUIDES],
    ["js", "docs/client"],
    ["ts", "docs/client"],
    ["js", "docs/client"],
    ...Array<readonly [string, string]>(6).fill(["ts", "docs/client"]),
    ["", "docs/client"],
    ...Array<readonly [string, string]>(6).fill(["ts", "docs/client"]),
  ],
  "docs/clustering.md": [...Array<readonly [string, string]>(6).fill(["sh", "nodes/clustering-page"]), ["conf", OWN]],
  "docs/data.md": [["sh", "docs/data"]],
  "docs/dashboard.md": [
    ["sh", GUIDES],
    ["sh", OWN],
  ],
  "docs/history.md": [
    ["sh", GUIDES],
    ["json", OWN],
    ...Array<readonly [string, string]>(7).fill(["", "docs/asyncapi"]),
  ],
  "docs/install.md": [
    ["", "release/install-page"],
    ["sh", "release/install-page"],
    ["sh", "release/install-page"],
    ...Array<readonly [string, string]>(5).fill(["", "release/install-page"]),
  ],
  "docs/meetings.md": [
    ["sh", "docs/meetings"],
    ["sh", "docs/meetings"],
    ["sh", "docs/meetings"],
    ["html", OWN],
    ["sh", "docs/meetings"],
    ["caddyfile", "docs/meetings"],
  ],
  "docs/moving-stores.md": Array<readonly [string, string]>(3).fill(["sh", NAMES]),
  "docs/moving-from-hosted.md": [
    ["js", "docs/moving"],
    ["sh", "docs/moving"],
  ],
  "docs/operations.md": [["sh", OWN]],
  "docs/performance.md": [["sh", NAMES]],
  "docs/presence-and-reconnect.md": [
    ["ts", "docs/client"],
    ["js", "docs/presence"],
    ["", "docs/asyncapi"],
  ],
  "docs/production.md": [["", NAMES]],
  "docs/protocol.md": [
    ["", "docs/asyncapi"],
    ["", "docs/asyncapi"],
  ],
  "docs/quickstart.md": [
    ["sh", "defaults/install"],
    ["", "docs/quickstart"],
    ...Array<readonly [string, string]>(4).fill(["sh", "docs/quickstart"]),
    ["js", "docs/quickstart"],
    ["python", "docs/quickstart"],
    ["sh", "docs/quickstart"],
  ],
  "docs/react.md": Array<readonly [string, string]>(3).fill(["tsx", "docs/react"]),
  "docs/recordings-api.md": [
    ["sh", "docs/recordings-api"],
    ["sh", "docs/recordings-api"],
    ["sh", "docs/recordings-api"],
  ],
  "docs/recordings.md": [["sh", "docs/recordings"]],
  "docs/rest.md": [["sh", GUIDES]],
  "docs/rooms.md": [
    ["sh", "docs/rooms"],
    ["sh", "docs/rooms"],
    ["json", "docs/rooms"],
  ],
  "docs/scale.md": [
    ["sh", NAMES],
    ["", PROSE],
    ["sh", NAMES],
    ["sh", NAMES],
    ["sh", NAMES],
  ],
  "docs/upgrading.md": [
    ["sh", NAMES],
    ["sh", "upgrade/embedded"],
  ],
  "docs/sdk-to-client.md": [
    ["js", "docs/sdk-to-client"],
    ["js", "docs/sdk-to-client"],
  ],
  "docs/streams.md": [
    ["sh", NAMES],
    ["json", "docs/streams"],
    ["sh", "docs/streams"],
    ["js", "docs/streams"],
    ["js", "docs/streams"],
    ["js", "docs/streams"],
    ["python", "docs/streams"],
    ["sh", "docs/streams"],
    ["sh", "docs/streams"],
    ["js", "conformance/durable-streams/ai-sdk"],
    ["js", "conformance/durable-streams/tanstack-ai"],
    ["js", "conformance/durable-streams/yjs"],
    ["js", "conformance/durable-streams/yjs"],
  ],
  "docs/tokens.md": [["js", OWN]],
  "docs/tour.md": [
    ["js", "docs/tour"],
    ["sh", "defaults/tour"],
  ],
  "docs/troubleshooting.md": [["sh", "docs/troubleshooting"]],
  "docs/turn.md": [
    ["", OWN],
    ["", "turn/support/coturn"],
    ["", NAMES],
    ["", OWN],
  ],
  "docs/verify.md": [["", NAMES]],
  "docs/without-websocket.md": [
    ["sh", "docs/without-websocket"],
    ["", "docs/without-websocket"],
    ["sh", "docs/without-websocket"],
    ["", "docs/without-websocket"],
    ["js", "docs/without-websocket-clients"],
    ["js", "docs/without-websocket-clients"],
  ],
  "docs/webhooks.md": [
    ["sh", "docs/webhooks"],
    ["sh", "docs/webhooks"],
    ["sh", "docs/webhooks"],
    ["", NAMES],
    ["js", "docs/webhooks"],
    ["python", "docs/webhooks"],
    ["go", "docs/webhooks"],
    ["json", "docs/webhooks"],
    ["", "docs/webhooks"],
  ],
  "examples/agent-python/README.md": [["sh", EXAMPLES]],
  "examples/backend-express-free/README.md": [["sh", EXAMPLES]],
  "examples/chat-terminal/README.md": [["sh", EXAMPLES]],
  "examples/iot-signals/README.md": [
    ["sh", EXAMPLES],
    ["sh", EXAMPLES],
  ],
  "examples/react-chat/README.md": [
    ["sh", EXAMPLES],
    ["sh", "docs/react-chat"],
  ],
  "examples/sdk-recovery/README.md": [["sh", EXAMPLES]],
};

for (const page of PAGES)
  test(`every block of ${page} is checked by a test`, () => {
    const found = blocks(page).map(({ language, heading }) => `${language} under "${heading}"`);
    const listed = CHECKED[page] ?? [];
    expect(
      found.map((block, at) => (block.startsWith(`${listed[at]?.[0]} `) ? block : `not listed: ${block}`)),
    ).toEqual(found);
    expect(listed.length).toBe(found.length);
  });

test("the tests that are named exist, and name the page", () => {
  const wrong = Object.entries(CHECKED).flatMap(([page, list]) =>
    [...new Set(list.map(([, name]) => name))]
      // These read all pages, or follow the folders of the code.
      .filter((name) => ![PROSE, NAMES, EXAMPLES, "house/architecture", "defaults/install"].includes(name))
      .filter((name) => {
        const file = [`test/${name}.test.ts`, `test/${name}.ts`].find((path) => existsSync(join(PROJECT, path)));
        return file === undefined || !readFileSync(join(PROJECT, file), "utf8").includes(page);
      })
      .map((name) => `${page}: ${name}`),
  );
  expect(wrong).toEqual([]);
});
