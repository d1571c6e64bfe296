import os

from supabase import create_client

client = create_client(os.environ["URL"], os.environ["KEY"])


def pay(account_id: str, amount: int) -> None:
    row = client.table("accounts").select("balance").eq("id", account_id).single().execute()
    old = row.data["balance"]
    client.table("accounts").update({"balance": old - amount}).eq("id", account_id).eq("balance", old).execute()
