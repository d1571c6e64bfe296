// also: RC403
import axios from "axios";

async function again<T>(times: number, work: () => Promise<T>): Promise<T> {
  let last: unknown;
  for (let i = 0; i < times; i++) {
    try {
      return await work();
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

export async function order(sku: string) {
  return again(3, () => axios.post("https://shop.example/orders", { sku })); // expect: RC402
}

export async function stock(sku: string) {
  return again(3, () => axios.get(`https://shop.example/stock/${sku}`));
}
