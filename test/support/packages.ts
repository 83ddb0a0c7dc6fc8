/** Programs that suites need, from Debian's packages. */

export interface DebianPackage {
  /** A name to be found in PATH, or a pattern of where it is. */
  readonly program: string;
  readonly name: string;
  /** A program that is there on many machines, and does the same more slowly. */
  readonly instead?: string;
}

export const POSTGRES: DebianPackage = { program: "/usr/lib/postgresql/*/bin/initdb", name: "postgresql" };
export const NATS: DebianPackage = { program: "nats-server", name: "nats-server" };

export const CHROMIUM: DebianPackage = {
  program: "chromium-headless-shell",
  name: "chromium-headless-shell",
  instead: "chromium",
};

/** The second browser, in full runs. */
export const FIREFOX: DebianPackage = { program: "firefox-esr", name: "firefox-esr" };

/** Builds the S3-compatible service that buckets are tested with. */
export const GO_TOOLS: DebianPackage = { program: "go", name: "golang-go" };
/** For ffprobe, which judges recordings as players do. */
export const FFMPEG: DebianPackage = { program: "ffprobe", name: "ffmpeg" };

/** Installs missing packages if it may; otherwise prints the command, and the suites that need them fail with the same text. */
export function install(packages: readonly DebianPackage[]): void {
  const missing = [...new Set(packages.filter(({ program }) => !isThere(program)))];
  if (missing.length === 0) return;
  const isReplaced = ({ instead = "" }: DebianPackage): boolean => instead !== "" && isThere(instead);
  const names = missing.filter((one) => !isReplaced(one)).map(({ name }) => name);
  const command = `apt-get install -y ${names.join(" ")}`;
  if (process.getuid?.() !== 0 || !Bun.which("apt-get")) {
    if (names.length > 0) console.error(`test: ${names.join(", ")} missing: ${command}`);
    return;
  }
  console.log(`test: installing ${missing.map(({ name }) => name).join(", ")} (once)`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (step: string): void => {
    Bun.spawnSync(["sh", "-c", step], { stdio: ["ignore", "ignore", "inherit"], env });
  };
  // Without a network it must fail soon.
  apt("apt-get update -q -o Acquire::Retries=0 -o Acquire::http::Timeout=20");
  if (names.length > 0) apt(command);
  // Each by itself, because a release of Debian may not have it; with the program of the same version that it replaces.
  for (const { name, instead } of missing.filter(isReplaced)) apt(`apt-get install -y ${name} ${instead}`);
}

export function isThere(program: string): boolean {
  if (!program.startsWith("/")) return Bun.which(program) !== null;
  return [...new Bun.Glob(program.slice(1)).scanSync("/")].length > 0;
}
