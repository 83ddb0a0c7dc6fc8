/** Formats everything and mends what the linter can mend. */
const { exitCode } = Bun.spawnSync(["node_modules/.bin/biome", "check", "--write", "."], {
  stdio: ["inherit", "inherit", "inherit"],
});
process.exit(exitCode);
