/**
 * The list of components in CycloneDX. npm makes it from package-lock.json; what npm cannot know is added: Bun itself, which is
 * inside each executable. Its number and its time are those of the release, because npm's would differ with each run.
 */
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { type Release, ROOT } from "./facts.ts";
import { SERVER_NAME } from "./npm.ts";
import { output } from "./program.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version?: string;
}

export interface Sbom {
  readonly specVersion: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

const BUN_VERSION = manifest.dependencies.bun;
const RUNTIME_REF = `bun-runtime@${BUN_VERSION}`;

const RUNTIME = {
  "bom-ref": RUNTIME_REF,
  type: "platform",
  name: "bun-runtime",
  version: BUN_VERSION,
  scope: "required",
  description:
    "The runtime inside each executable. It links JavaScriptCore (LGPL-2.1) and further libraries: see LICENCES.txt.",
  purl: `pkg:github/oven-sh/bun@bun-v${BUN_VERSION}`,
  licenses: [{ expression: "MIT AND LGPL-2.1-only" }],
  externalReferences: [{ type: "website", url: "https://bun.com" }],
} as const;

export async function sbomOf(release: Release, work: string): Promise<string> {
  // npm names the root component after its folder.
  const folder = join(work, "parley");
  mkdirSync(folder, { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(ROOT, name), join(folder, name));
  const options = ["--sbom-format=cyclonedx", "--sbom-type=application", "--omit=dev", "--package-lock-only"];
  const made = JSON.parse(await output(["npm", "sbom", ...options, "--offline"], { cwd: folder })) as Sbom;
  return `${JSON.stringify(completed(made, release), undefined, 2)}\n`;
}

export function completed(made: Sbom, { version, commit, epochSeconds, repository }: Release): object {
  const component = {
    ...made.metadata.component,
    // npm's registry has another project by the name of the repository's manifest.
    purl: `pkg:npm/${SERVER_NAME}@${version}`,
    properties: [],
    ...(repository !== "" && { externalReferences: [{ type: "vcs", url: repository, comment: commit }] }),
  };
  return {
    ...made,
    serialNumber: `urn:uuid:${uuidOf(`parley ${version} ${commit}`)}`,
    metadata: { ...made.metadata, timestamp: new Date(epochSeconds * 1000).toISOString(), component },
    components: [...made.components, RUNTIME],
    dependencies: [
      ...made.dependencies.map((one) =>
        one.ref === component["bom-ref"] ? { ...one, dependsOn: [...(one.dependsOn ?? []), RUNTIME_REF] } : one,
      ),
      { ref: RUNTIME_REF, dependsOn: [] },
    ],
  };
}

/** A UUID of version 8, whose bits one may choose. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}
