/** The workflow that publishes a release: what it may do, and that its commands are well formed; in full runs, what actionlint says. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { SERVER_NAME } from "../../scripts/release/npm.ts";
import { documents, PROJECT } from "../deploy/support/files.ts";
import { run } from "../deploy/support/program.ts";
import { IS_FULL } from "../support/slack.ts";
import { goTool } from "./support/go-tools.ts";

/** The first run builds actionlint. */
setDefaultTimeout(600_000);

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly needs?: string | readonly string[];
  readonly permissions: Readonly<Record<string, string>>;
  readonly "timeout-minutes": number;
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly on: { readonly push: { readonly tags: readonly string[] } };
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const PATH = ".github/workflows/release.yml";
const [workflow] = documents<Workflow>(PATH) as [Workflow];
const jobs = Object.entries(workflow.jobs);
const steps = jobs.flatMap(([, job]) => job.steps);
const scripts = steps.flatMap(({ run: script }) => script ?? []);

describe("the release workflow", () => {
  test("runs on tags of versions, and each job has only the rights that it needs", () => {
    expect(workflow.on).toEqual({ push: { tags: ["v*"] } });
    expect(workflow.permissions).toEqual({});
    expect(Object.fromEntries(jobs.map(([name, { permissions }]) => [name, permissions]))).toEqual({
      build: { contents: "read" },
      try: {},
      github: { contents: "write", "id-token": "write", attestations: "write" },
      npm: { "id-token": "write" },
      image: { packages: "write" },
    });
    for (const [name, job] of jobs) expect([name, job["timeout-minutes"] <= 60]).toEqual([name, true]);
  });

  test("publishes nothing before the files were made and tried", () => {
    for (const name of ["github", "npm", "image"]) expect(workflow.jobs[name]?.needs).toEqual(["build", "try"]);
    expect(workflow.jobs.try?.needs).toBe("build");
  });

  test("makes the release of the tag's version with the project's own command, and publishes both packages", () => {
    expect(manifest.scripts).toHaveProperty("release");
    expect(scripts.join("\n")).toContain('npm run release -- --version "$VERSION"');
    expect(scripts.join("\n")).toContain(`for name in parley-client ${SERVER_NAME}; do`);
  });

  test("uses actions by version, and no text of others inside a script", () => {
    const actions = steps.flatMap(({ uses }) => uses ?? []);
    expect(actions.length).toBeGreaterThan(5);
    expect(actions.filter((action) => !/^(actions|docker)\/[a-z-]+@v\d+$/.test(action))).toEqual([]);
    // An expression would be replaced before the shell reads the script: values come through the environment.
    expect(scripts.filter((script) => script.includes("${{"))).toEqual([]);
  });

  test("has scripts that a shell understands", () => {
    for (const script of scripts) expect(Bun.spawnSync(["sh", "-n", "-c", script]).exitCode, script).toBe(0);
  });
});

test.skipIf(!IS_FULL)("actionlint finds nothing wrong with the workflows, and something in a wrong one", async () => {
  const actionlint = await goTool("actionlint", "github.com/rhysd/actionlint/cmd/actionlint", "v1.7.12");
  const files = ["release.yml", "test.yml"].map((name) => join(PROJECT, ".github/workflows", name));
  expect(await run([actionlint, ...files])).toEqual({ code: 0, output: "" });
  const wrong = 'printf "on: psh\\njobs: {}\\n" | "$0" -';
  expect((await run(["sh", "-c", wrong, actionlint])).code).toBe(1);
});
