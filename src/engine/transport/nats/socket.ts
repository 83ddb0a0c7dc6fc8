/**
 * The client's connection to a server, with two differences: what is published in one turn of the event loop is one write (outbox.ts),
 * and messages are taken from a read in place (reader.ts). Dialling, TLS, reconnects, pings and credentials are the client's.
 *
 * Each connection has its own outbox and reader, so that nothing of one connection can get into the next.
 */
import {
  type ConnectionOptions,
  type NatsConnection,
  NatsConnectionImpl,
  State,
  setTransportFactory,
} from "@nats-io/transport-node";
import { NodeTransport, nodeResolveHost } from "@nats-io/transport-node/lib/node_transport.js";
import { NatsOutbox } from "./outbox.ts";
import { NatsReader, type ReaderOutput } from "./reader.ts";

/** What the client's sockets get with its options. Set when the first connection is made: until then the client reads by itself. */
export interface NatsReading {
  output?: ReaderOutput & {
    /** Whether the client's parser is between two commands. */
    readonly parserState: number;
    /** The connection cannot be read any further. */
    failed(error: unknown): void;
  };
}

interface Options extends ConnectionOptions {
  readonly reading: NatsReading;
}

export class NatsSocket extends NodeTransport {
  readonly outbox = new NatsOutbox((bytes) => this.write(bytes));
  private reader: NatsReader | undefined;

  override setupHandlers(): void {
    super.setupHandlers();
    const { reading } = this.options as Options;
    this.socket.removeAllListeners("data");
    this.socket.on("data", (frame: Buffer) => this.read(frame, reading));
  }

  /** The client's own commands: pings and their answers. What was published before a ping is in front of it. */
  override send(frame: Uint8Array): void {
    this.outbox.flush();
    this.write(frame);
  }

  /** Without the promise and the callback of each write: an error ends the connection by its own event. */
  private write(bytes: Uint8Array): void {
    if (this.done || !this.socket) return;
    try {
      this.socket.write(bytes);
    } catch {
      this.disconnect();
    }
  }

  private read(frame: Buffer, { output }: NatsReading): void {
    const reader = this.reader ?? this.readerFor(output);
    this.reader = reader;
    if (!reader || !output) {
      this.yields.push(frame);
      return this.signal.resolve();
    }
    try {
      reader.read(frame);
      // What this read has caused to be sent need not wait for the end of the turn.
      this.outbox.flush();
    } catch (error) {
      output.failed(error);
      this.disconnect();
    }
  }

  /** Only once the client has consumed everything that came before, and is not in the middle of a command. */
  private readerFor(output: NatsReading["output"]): NatsReader | undefined {
    const isBetween = this.yields.length === 0 && output?.parserState === State.OP_START;
    return output && isBetween ? new NatsReader(output) : undefined;
  }
}

/** Connects with such sockets. */
export function connectNats(options: ConnectionOptions, reading: NatsReading): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new NatsSocket(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect({ ...options, reading } as Options) as Promise<NatsConnection>;
}
