/** What is made of deploy/: the Helm chart, and the Dockerfile of a release. */
import { join } from "node:path";
import { packed } from "./archive.ts";
import { DEBIAN_ARCHITECTURES } from "./debian.ts";
import { type Release, ROOT } from "./facts.ts";

export const packChart = ({ version, epochSeconds }: Release, out: string): Promise<void> =>
  packed(join(out, `parley-helm-${version}.tgz`), join(ROOT, "deploy/helm"), ["parley"], epochSeconds);

/**
 * The last stage of deploy/Dockerfile, with the executables of the release instead of one that the first stage builds. The folder of
 * the release is its context: a stage per architecture unpacks an archive, and Docker names architectures as Debian does.
 */
export function releasedDockerfile(dockerfile: string): string {
  const [, ...stages] = dockerfile.split(/^(?=FROM |# Not a smaller base)/m);
  const last = stages.at(-1) ?? "";
  const [, base] = /^FROM (\S+)$/m.exec(last) ?? [];
  if (base === undefined || !last.includes("COPY --from=build /parley/parley "))
    throw new Error(
      "deploy/Dockerfile has another form: its last stage does not copy /parley/parley of the stage `build`",
    );
  const unpacked = Object.entries(DEBIAN_ARCHITECTURES).map(
    ([target, architecture]) => `FROM ${base} AS ${architecture}\nADD parley-${target}.tar.gz /\n`,
  );
  return `# The image of a release. In a folder with this file and the archives of the release that it names:
#   docker build -t parley .
#   docker buildx build --platform linux/amd64,linux/arm64 -t REGISTRY/parley --push .

${unpacked.join("\n")}
FROM $TARGETARCH AS build

${last.slice(last.indexOf("FROM "))}`;
}
