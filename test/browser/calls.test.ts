/**
 * A call between two pages with the unmodified SDK goes on over a restart, a loss of the network, the renewal of a token and a reload;
 * and what each application sees of it as peers that leave and join.
 */
import { expect, setDefaultTimeout, test } from "bun:test";
import { CallCases, IS_FULL, met } from "./support/call-cases.ts";
import { Service } from "./support/service.ts";

setDefaultTimeout(90_000);

class OneNode {
  private constructor(readonly service: Service) {}

  static start = async (): Promise<OneNode> => new OneNode(await Service.start());

  get url() {
    return this.service.url;
  }

  get admin() {
    return this.service.admin;
  }

  get secretKey() {
    return this.service.keys.secretKey;
  }

  get ports() {
    return { alice: this.service.port, bob: this.service.port };
  }

  stop = (): Promise<void> => this.service.stop();
}

const cases = new CallCases(OneNode.start);

test("the service restarts: neither sees the other leave", async () => {
  const call = await cases.begin();
  const { service } = cases.ground;
  await service.down();
  await Promise.all([call.alice.reconnecting(), call.bob.reconnecting()]);
  await service.up();
  await call.goesOn();
  expect(await call.comings()).toEqual({ alice: met("bob"), bob: met("alice") });
});

cases.oneReturns("bob");
if (IS_FULL) cases.oneReturns("alice");
