import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";

const client = axios.create({ baseURL: "https://pay.example" });
axiosRetry(client, { retries: 3, retryCondition: () => true });

export const charge = (order: unknown) => client.post("/charges", order); // expect: RC402

export const refund = (order: unknown) =>
  got.post("https://pay.example/refunds", { json: order, retry: { limit: 2, methods: ["POST"] } }); // expect: RC402
