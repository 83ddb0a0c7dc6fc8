/**
 * The Helm chart: its values against its own schema, and, in full runs, what Helm itself makes of it, compared with the manifests of
 * deploy/kubernetes, which the suite `deploy` checks.
 */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { z } from "zod";
import manifest from "../../package.json" with { type: "json" };
import { NAMES, SETTINGS, type Setting } from "../../src/config/settings.ts";
import { documents, filesOf, PROJECT, read } from "../deploy/support/files.ts";
import { type Ended, run } from "../deploy/support/program.ts";
import { IS_FULL } from "../support/slack.ts";
import { goTool } from "./support/go-tools.ts";

/** The first run builds Helm. */
setDefaultTimeout(900_000);

const CHART = "deploy/helm/parley";
const HELM_VERSION = "v3.21.4";
/** A Helm that Go has built believes to know no newer one than 1.20. */
const KUBERNETES = ["--kube-version", "1.30.0"];

const [chart] = documents<{ version: string; appVersion: string }>(`${CHART}/Chart.yaml`);
const [values] = documents(`${CHART}/values.yaml`);
const schema = JSON.parse(read(`${CHART}/values.schema.json`));

describe("the chart", () => {
  test("has the version of the project, also on its page", () => {
    expect([chart?.version, chart?.appVersion]).toEqual([manifest.version, manifest.version]);
    expect(read(`${CHART}/README.md`)).toContain(`helm install parley parley-helm-${manifest.version}.tgz`);
  });

  test("has values that its schema allows, and none that it does not know", () => {
    const { propertyNames: _names, ...settings } = schema.properties.settings;
    const readable = z.fromJSONSchema({ ...schema, properties: { ...schema.properties, settings } });
    expect(readable.safeParse(values).error).toBeUndefined();
    for (const wrong of [{ replicas: "3" }, { replicas: 0 }, { domain: "https://a.example" }, { reploca: 1 }])
      expect(readable.safeParse({ ...values, ...wrong }).success).toBe(false);
    const explained = Object.keys(values ?? {}).filter((name) => read(`${CHART}/README.md`).includes(`\`${name}`));
    expect(explained).toEqual(Object.keys(values ?? {}));
  });

  test("takes no setting with a secret in it as a value", () => {
    const secret = NAMES.filter((name) => (SETTINGS[name] as Setting<unknown>).secret).map(
      (name) => SETTINGS[name].env,
    );
    expect(schema.properties.settings.propertyNames.not.enum.toSorted()).toEqual(secret.toSorted());
  });
});

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Record<string, string> };
}

const byName = (all: readonly Manifest[]): Record<string, unknown> =>
  Object.fromEntries(all.map((one) => [`${one.kind} ${one.metadata.name}`, comparable(one)]));

/** Without labels, which kustomize and Helm give in different ways, and the image, which users name. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  const left = ["labels", "matchLabels", "selector", "image", "imagePullPolicy", "checksum/settings"];
  const kept = Object.entries(value).filter(([key]) => !left.includes(key));
  const inner = kept.map(([key, one]) => [key, comparable(one)] as const);
  return Object.fromEntries(
    inner.filter(([key, one]) => !(key === "annotations" && Object.keys(one ?? {}).length === 0)),
  );
}

describe.skipIf(!IS_FULL)("Helm", () => {
  let program: string;

  beforeAll(async () => {
    program = await goTool("helm", "helm.sh/helm/v3/cmd/helm", HELM_VERSION);
  });

  const helm = (...args: string[]): Promise<Ended> => run([program, ...args]);
  const rendered = async (...sets: string[]): Promise<Manifest[]> => {
    const flags = sets.flatMap((one) => ["--set", one]);
    const { code, output } = await helm(
      "template",
      "parley",
      join(PROJECT, CHART),
      "-n",
      "parley",
      ...KUBERNETES,
      ...flags,
    );
    if (code !== 0) throw new Error(output);
    return (Bun.YAML.parse(output) as (Manifest | null)[]).filter((one) => one !== null);
  };

  test("finds nothing wrong with the chart", async () => {
    const { code, output } = await helm("lint", "--strict", join(PROJECT, CHART), ...KUBERNETES);
    expect([code, output]).toEqual([0, expect.stringContaining("0 chart(s) failed")]);
  });

  test("makes the objects of deploy/kubernetes of the default values", async () => {
    const files = filesOf("deploy/kubernetes").filter((path) => !/kustomization|namespace|secret/.test(path));
    const manifests = files.flatMap((path) => documents<Manifest>(path));
    expect(manifests.length).toBe(6);
    expect(byName(await rendered())).toEqual(byName(manifests));
  });

  test("gives pods the labels that services, the budget and the deployment select", async () => {
    const all = (await rendered()) as (Manifest & { spec: Record<string, unknown> })[];
    const deployment = all.find(({ kind }) => kind === "Deployment");
    const template = deployment?.spec.template as { metadata: { labels: Record<string, string> } };
    const selectors = all.flatMap(({ spec }) => {
      const selector = spec?.selector as { matchLabels?: object } | undefined;
      return selector === undefined ? [] : [selector.matchLabels ?? selector];
    });
    expect(selectors.length).toBe(4);
    for (const selector of selectors) expect(template.metadata.labels).toMatchObject(selector);
  });

  test("makes a single node with a volume and without a secret", async () => {
    const text = JSON.stringify(await rendered("replicas=1", "persistence.enabled=true", "existingSecret="));
    expect(text).toContain('"claimName":"parley"');
    expect(text).toContain('"type":"Recreate"');
    expect(text).not.toContain("secretRef");
    expect(text).not.toContain("PodDisruptionBudget");
  });

  test("puts settings of the values before the chart's own", async () => {
    const all = (await rendered("settings.PARLEY_LOG_LEVEL=debug", "settings.PARLEY_DEMO=on")) as (Manifest & {
      data: object;
    })[];
    expect(all.find(({ kind }) => kind === "ConfigMap")?.data).toMatchObject({
      PARLEY_LOG_LEVEL: "debug",
      PARLEY_DEMO: "on",
      PARLEY_HOST: "0.0.0.0",
    });
  });

  test.each([
    ["persistence.enabled=true", "set replicas to 1"],
    ["existingSecret=", "Several nodes need a Secret"],
    ["settings.PARLEY_MASTER_KEY=x", "PARLEY_MASTER_KEY"],
    ["replcas=1", "replcas"],
  ])("refuses %s, and says why", async (set, reason) => {
    await expect(rendered(set)).rejects.toThrow(reason);
  });
});
