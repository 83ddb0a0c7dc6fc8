/** What is made of deploy/: the Helm chart, and the Dockerfile of a release. */
import { join } from "node:path";
import { packed } from "./archive.ts";
import { DEBIAN_ARCHITECTURES } from "./debian.ts";
import { type Release, ROOT } from "./facts.ts";

export const packChart = ({ version, epochSeconds }: Release, out: string): Promise<void> =>
  packed(join(out, `parley-helm-${version}.tgz`), join(ROOT, "deploy/helm"), ["parley"], epochSeconds);

/**
 * The last stage of deploy/Dockerfile, with the executables of the release instead of one that the first stage builds. The folder of
 * the release is its context. A script chooses the archive, because only Docker's own builder knows the architecture in a FROM.
 */
export function releasedDockerfile(dockerfile: string): string {
  const [, ...stages] = dockerfile.split(/^(?=FROM |# Not a smaller base)/m);
  const last = stages.at(-1) ?? "";
  const [, base] = /^FROM (\S+)$/m.exec(last) ?? [];
  if (base === undefined || !last.includes("COPY --from=build /parley/parley "))
    throw new Error(
      "deploy/Dockerfile has another form: its last stage does not copy /parley/parley of the stage `build`",
    );
  const archives = Object.keys(DEBIAN_ARCHITECTURES).map((target) => `parley-${target}.tar.gz`);
  const cases = Object.entries(DEBIAN_ARCHITECTURES).map(([target, name]) => `${name}) target=${target} ;;`);
  return `# The image of a release. In a folder with this file and the archives of the release that it names:
#   docker build -t parley .
#   docker buildx build --platform linux/amd64,linux/arm64 -t REGISTRY/parley --push .

FROM ${base} AS build
COPY ${archives.join(" ")} /archives/
RUN case $(dpkg --print-architecture) in ${cases.join(" ")} esac \\
 && tar -xzf "/archives/parley-$target.tar.gz" -C /

${last.slice(last.indexOf("FROM "))}`;
}
