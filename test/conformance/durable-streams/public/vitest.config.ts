/** How the public suite is run: one file, which asks the package for its tests. */
import { join } from "node:path";

const config = {
  cacheDir: join(import.meta.dirname, "../../../../node_modules/.cache/vitest"),
  test: {
    root: import.meta.dirname,
    include: ["suite.ts"],
    setupFiles: ["setup.ts"],
    testTimeout: 30_000,
  },
};

export default config;
