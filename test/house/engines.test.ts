/** The packages that `npm start` installs run on every Node version that package.json allows: otherwise npm warns of EBADENGINE. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };

interface Package {
  readonly dev?: boolean;
  readonly engines?: { readonly node?: string };
}

interface Lock {
  readonly packages: Readonly<Record<string, Package>>;
}

test("no runtime package requires a newer Node than package.json promises", () => {
  const [, oldest = ""] = /^>=(\d+)$/.exec(manifest.engines.node) ?? [];
  expect(oldest).not.toBe("");
  const lock = JSON.parse(readFileSync(join(import.meta.dir, "../../package-lock.json"), "utf8")) as Lock;
  const tooNew = Object.entries(lock.packages).filter(
    ([, { dev, engines }]) => !dev && engines?.node && !Bun.semver.satisfies(`${oldest}.0.0`, engines.node),
  );
  expect(tooNew.map(([path]) => path)).toEqual([]);
});
