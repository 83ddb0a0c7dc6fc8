/**
 * The manifests, checked against the types of the Kubernetes API by the TypeScript compiler: a field that does not exist, or has
 * another type, is an error. Nothing is applied to a cluster.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Deployment } from "kubernetes-types/apps/v1";
import type { ConfigMap, Service } from "kubernetes-types/core/v1";
import type { Ingress } from "kubernetes-types/networking/v1";
import type { PodDisruptionBudget } from "kubernetes-types/policy/v1";
import manifest from "../../package.json" with { type: "json" };
import { PING_EVERY_MS } from "../../src/protocol/limits.ts";
import { scratch } from "../support/temp.ts";
import { changed, documents, filesOf, PROJECT, read } from "./support/files.ts";
import { run } from "./support/program.ts";

const FOLDER = "deploy/kubernetes";

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const manifests = filesOf(FOLDER)
  .filter((path) => !/kustomization|\/secret\.yaml/.test(path))
  .flatMap((path) => documents<Manifest>(path));

function only<T>(kind: string, name = "parley"): T {
  const found = manifests.filter((one) => one.kind === kind && one.metadata.name === name);
  if (found.length !== 1) throw new Error(`${found.length} × ${kind} ${name}`);
  return found[0] as T;
}

const deployment = only<Deployment>("Deployment");
const pod = deployment.spec!.template.spec!;
const [container] = pod.containers as [(typeof pod.containers)[0]];
const settings = only<ConfigMap>("ConfigMap").data!;

/** `apps/v1` → kubernetes-types/apps/v1; the core group has no name of its own. */
const moduleOf = (apiVersion: string): string =>
  `kubernetes-types/${apiVersion.includes("/") ? apiVersion.replace(".k8s.io", "") : `core/${apiVersion}`}`;

/** The compiler's errors for these objects, each declared as the type of its kind. */
async function complaints(all: readonly Manifest[]): Promise<string> {
  using folder = scratch();
  const lines = all.map(
    (one, at) =>
      `import type { ${one.kind} as T${at} } from "${moduleOf(one.apiVersion)}";\nexport const m${at}: T${at} = ${JSON.stringify(one)};`,
  );
  mkdirSync(join(folder.path, "node_modules"));
  symlinkSync(join(PROJECT, "node_modules/kubernetes-types"), join(folder.path, "node_modules/kubernetes-types"));
  writeFileSync(join(folder.path, "manifests.ts"), lines.join("\n"));
  const compiler = join(PROJECT, "node_modules/.bin/tsc");
  const options = "--noEmit --strict --ignoreConfig --moduleResolution bundler --module preserve --types".split(" ");
  return (await run([compiler, ...options, "", join(folder.path, "manifests.ts")])).output;
}

describe("the manifests", () => {
  test("match the types of the Kubernetes API", async () => {
    expect(manifests.length).toBeGreaterThanOrEqual(7);
    expect(await complaints(manifests)).toBe("");
  });

  test("are recognised as wrong after a change", async () => {
    const changes = [
      ['"readinessProbe"', '"readynessProbe"'],
      ['"replicas":3', '"replicas":"3"'],
      ['"containers"', '"container"'],
    ] as const;
    const wrong = changes.map((change) => JSON.parse(changed(JSON.stringify(deployment), change)));
    const said = await complaints(wrong);
    for (const word of ['"readynessProbe"', "'string' is not assignable to type 'number'", '"container"'])
      expect(said).toContain(word);
  });

  test("are all in the kustomization except the secret, which is not in the repository", () => {
    const [{ resources }] = documents<{ resources: string[] }>(`${FOLDER}/kustomization.yaml`) as [
      { resources: string[] },
    ];
    const there = filesOf(FOLDER).map((path) => path.split("/").at(-1) ?? "");
    const left = ["kustomization.yaml", "secret.example.yaml", "secret.yaml"];
    expect(resources.toSorted()).toEqual(there.filter((name) => !left.includes(name)).toSorted());
    expect(read(".gitignore")).toContain(`/${FOLDER}/secret.yaml`);
  });

  test.skipIf(!Bun.which("kubectl"))("can be built by kustomize, with selectors that match the pods", async () => {
    // No cluster is contacted: this command only reads files.
    const { code, output } = await run(["kubectl", "kustomize", join(PROJECT, FOLDER)], { KUBECONFIG: "/dev/null" });
    expect([code, output]).toEqual([0, expect.any(String)]);
    const built = Bun.YAML.parse(output) as Manifest[];
    const one = <T>(kind: string): T => built.find((made) => made.kind === kind) as T;
    const made = one<Deployment>("Deployment");
    const labels = made.spec?.template.metadata?.labels;
    expect(made.spec?.template.spec?.containers[0]?.image).toBe(`registry.example.com/parley:${manifest.version}`);
    for (const selector of [
      made.spec?.selector.matchLabels,
      one<PodDisruptionBudget>("PodDisruptionBudget").spec?.selector?.matchLabels,
      ...built.filter(({ kind }) => kind === "Service").map((service) => (service as Service).spec?.selector),
    ]) {
      expect(Object.keys(selector ?? {}).length).toBeGreaterThan(1);
      expect(labels).toMatchObject(selector ?? {});
    }
    expect(await complaints(built)).toBe("");
  });
});

describe("a pod", () => {
  test("has a readiness and a liveness probe, each at its own address", () => {
    expect(container.readinessProbe?.httpGet?.path).toBe("/readyz");
    expect(container.livenessProbe?.httpGet?.path).toBe("/healthz");
    const ports = (container.ports ?? []).map(({ name }) => name);
    for (const probe of [container.readinessProbe, container.livenessProbe, container.startupProbe])
      expect(ports).toContain(String(probe?.httpGet?.port));
  });

  test("has a longer termination period than its preStop and its drain can take", () => {
    const [, wait] = container.lifecycle?.preStop?.exec?.command ?? [];
    const needed = Number(wait) + 2 * Number(settings.PARLEY_DRAIN_SECONDS);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(needed);
  });

  test("gets no variables from services, and its settings from existing objects", () => {
    expect(pod.enableServiceLinks).toBe(false);
    const sources = (container.envFrom ?? []).map((from) => from.configMapRef?.name ?? from.secretRef?.name);
    expect(sources).toEqual(["parley", "parley"]);
    only("Secret");
  });

  test("listens on its declared ports", () => {
    const port = (name: string) => container.ports?.find((one) => one.name === name)?.containerPort;
    expect(port("http")).toBe(8080);
    expect(settings.PARLEY_ADMIN_LISTEN).toBe(`0.0.0.0:${port("admin")}`);
    for (const name of ["parley", "parley-admin"])
      for (const one of only<Service>("Service", name).spec?.ports ?? [])
        expect(port(String(one.targetPort))).toBeDefined();
  });

  test("runs as the image's user, without privileges, on a read-only root", () => {
    expect(read("deploy/Dockerfile")).toContain(
      `USER ${pod.securityContext?.runAsUser}:${pod.securityContext?.runAsGroup}`,
    );
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(container.volumeMounts?.map((mount) => mount.mountPath)).toContain("/data");
  });

  test("is spread over machines, and at most one is unavailable", () => {
    expect(pod.affinity?.podAntiAffinity).toBeDefined();
    expect(only<PodDisruptionBudget>("PodDisruptionBudget").spec?.maxUnavailable).toBe(1);
    expect(deployment.spec?.strategy?.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
  });
});

test("the Ingress has a longer timeout than a ping, logs no query, and routes to the service", () => {
  const ingress = only<Ingress>("Ingress");
  const note = (name: string) => ingress.metadata?.annotations?.[`nginx.ingress.kubernetes.io/${name}`];
  for (const name of ["proxy-read-timeout", "proxy-send-timeout"])
    expect(Number(note(name)) * 1000).toBeGreaterThan(2 * PING_EVERY_MS);
  expect(note("enable-access-log")).toBe("false");
  expect(note("proxy-request-buffering")).toBe("off");
  const ports = only<Service>("Service").spec?.ports?.map(({ name }) => name);
  for (const rule of ingress.spec?.rules ?? [])
    for (const { backend } of rule.http?.paths ?? []) {
      expect(backend.service?.name).toBe("parley");
      expect(ports).toContain(backend.service?.port?.name);
    }
});
