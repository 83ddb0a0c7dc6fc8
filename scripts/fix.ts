/** Formats all files and applies the fixes of the linter. */
const { exitCode } = Bun.spawnSync(["node_modules/.bin/biome", "check", "--write", "."], {
  stdio: ["inherit", "inherit", "inherit"],
});
process.exit(exitCode);
