/** What is made of deploy/: the Helm chart, and the build context of the image. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { packed } from "./archive.ts";
import { type Binary, place } from "./binaries.ts";
import { DEBIAN_ARCHITECTURES } from "./debian.ts";
import { projectFile, type Release, ROOT } from "./facts.ts";

export const packChart = ({ version, epochSeconds }: Release, out: string): Promise<void> =>
  packed(join(out, `parley-helm-${version}.tgz`), join(ROOT, "deploy/helm"), ["parley"], epochSeconds);

/** The image's names of architectures are those of Debian. Only executables for glibc: the image is based on Debian. */
export async function packImage(
  { version, epochSeconds }: Release,
  binaries: readonly Binary[],
  licences: Readonly<Record<string, string>>,
  out: string,
  work: string,
): Promise<void> {
  const name = `parley-image-${version}`;
  const folder = join(work, name);
  for (const { target, file } of binaries) {
    const architecture = DEBIAN_ARCHITECTURES[target];
    if (architecture === undefined) continue;
    mkdirSync(join(folder, architecture), { recursive: true });
    place(file, join(folder, architecture, "parley"));
  }
  await Bun.write(join(folder, "Dockerfile"), releasedDockerfile(projectFile("deploy/Dockerfile")));
  for (const [file, text] of Object.entries(licences)) await Bun.write(join(folder, file), text);
  await packed(join(out, `${name}.tar.gz`), work, [name], epochSeconds);
}

/** The last stage of deploy/Dockerfile, with the released executable instead of one that the first stage builds. */
export function releasedDockerfile(dockerfile: string): string {
  const [, ...stages] = dockerfile.split(/^(?=FROM )/m);
  const last = stages.at(-1) ?? "";
  const copies = last.match(/^COPY --from=build .*$/gm) ?? [];
  if (stages.length !== 2 || copies.length !== 2)
    throw new Error("deploy/Dockerfile has another form than two stages, the second of which copies two things");
  const [program = "", licences = ""] = copies;
  return `# The image of a release. In this folder, for one or several platforms:
#   docker build -t parley .
#   docker buildx build --platform linux/amd64,linux/arm64 -t REGISTRY/parley --push .
${last
  .replace(program, "ARG TARGETARCH\nCOPY $TARGETARCH/parley /usr/local/bin/parley")
  .replace(licences, "COPY LICENSE LICENCES.txt /usr/share/doc/parley/")}`;
}
