/** Runs the public suite of the protocol against a service, under Node. */
import { join } from "node:path";
import type { SecretKey } from "../../support/admin.ts";
import type { Server } from "../../support/parley.ts";

const PROJECT = join(import.meta.dir, "../../..");
const CONFIG = join(import.meta.dir, "public/vitest.config.ts");
/** Some of its tests wait for a long poll to end, for at most 5 seconds. */
const POLL_SECONDS = "2";

/** What the service needs for it: the suite sends more than a client may, and creates streams of any name. */
export const SUITE_ENV = {
  PARLEY_REST_REQUESTS_PER_SECOND: "5000",
  PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
  PARLEY_STREAM_POLL_SECONDS: POLL_SECONDS,
};
export const STREAM_RULES = [{ pattern: "**", stream: { seconds: 86_400, bytes: 64 * 1024 * 1024 } }];

export interface SuiteRun {
  readonly code: number;
  readonly passed: number;
  readonly failed: number;
  readonly output: string;
}

/** `only`: tests whose names match. */
export async function runPublicSuite(
  servers: readonly Pick<Server, "url">[],
  { credential }: Pick<SecretKey, "credential">,
  only?: string,
): Promise<SuiteRun> {
  const vitest = join(PROJECT, "node_modules/vitest/vitest.mjs");
  const command = [Bun.which("node") ?? "node", vitest, "run", "--config", CONFIG, "--reporter=json"];
  const child = Bun.spawn(only === undefined ? command : [...command, "-t", only], {
    cwd: PROJECT,
    env: {
      ...process.env,
      PARLEY_TEST_STREAM_URLS: servers.map(({ url }) => url).join(","),
      PARLEY_TEST_STREAM_KEY: credential,
      PARLEY_TEST_STREAM_POLL_SECONDS: POLL_SECONDS,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const { passed, failed, failures } = resultOf(output);
  return { code: await child.exited, passed, failed, output: failures || errors };
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

function resultOf(output: string): { passed: number; failed: number; failures: string } {
  const line = output.split("\n").find((one) => one.startsWith("{"));
  if (line === undefined) return { passed: 0, failed: 0, failures: output };
  const report = JSON.parse(line) as Report;
  const failures = report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "failed")
    .map(({ fullName, failureMessages }) => `${fullName}\n${failureMessages.join("\n")}`);
  return { passed: report.numPassedTests, failed: report.numFailedTests, failures: failures.join("\n\n") };
}
