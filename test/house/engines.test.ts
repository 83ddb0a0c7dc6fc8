/** What `npm start` installs runs on every Node that package.json promises: npm warns of EBADENGINE otherwise. */
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

test("no package that is installed to run it asks for a newer Node than the one we promise", () => {
  const [, oldest = ""] = /^>=(\d+)$/.exec(manifest.engines.node) ?? [];
  expect(oldest).not.toBe("");
  const lock = JSON.parse(readFileSync(join(import.meta.dir, "../../package-lock.json"), "utf8")) as Lock;
  const tooNew = Object.entries(lock.packages).filter(
    ([, { dev, engines }]) => !dev && engines?.node && !Bun.semver.satisfies(`${oldest}.0.0`, engines.node),
  );
  expect(tooNew.map(([path]) => path)).toEqual([]);
});
