/** A scenario is written once, with what Bun and Node 20 have in common, and runs under both. */
import { Scene } from "./scene.ts";
import type { Means, Service } from "./service.ts";
import type { OpenSocket } from "./wire.ts";

export interface Scenario {
  readonly name: string;
  readonly needs?: Means;
  readonly run: (scene: Scene) => Promise<void>;
}

export async function play(scenario: Scenario, service: Service, open: OpenSocket): Promise<void> {
  const scene = new Scene(service, open);
  try {
    await scenario.run(scene);
  } finally {
    await scene.close();
  }
}
