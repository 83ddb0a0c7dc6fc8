/** How the public suite is run: one file, which asks the package for its tests. */
const config = {
  test: {
    root: import.meta.dirname,
    include: ["suite.ts"],
    setupFiles: ["setup.ts"],
    testTimeout: 30_000,
  },
};

export default config;
