import { Mutex } from "async-mutex";

export class Session {
  private mutex = new Mutex();
  private release?: () => void;

  async begin(): Promise<void> {
    this.release = await this.mutex.acquire();
  }

  end(): void {
    this.release?.();
    this.release = undefined;
  }
}
