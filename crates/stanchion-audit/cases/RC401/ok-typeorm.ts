// deployment: cluster
import { Column, DataSource, Entity, PrimaryGeneratedColumn, Unique } from "typeorm";

@Entity()
export class User {
  @PrimaryGeneratedColumn() id: number;
  @Column({ unique: true }) email: string;
}

@Entity("seats")
@Unique(["hall", "number"])
export class Seat {
  @PrimaryGeneratedColumn() id: number;
  @Column() hall: string;
  @Column() number: number;
}

const source = new DataSource({ type: "postgres", entities: [User, Seat] });

export async function register(email: string) {
  const users = source.getRepository(User);
  if (await users.findOneBy({ email })) return false;
  await users.save(users.create({ email }));
  return true;
}

export async function take(hall: string, number: number) {
  const seats = source.getRepository(Seat);
  if (await seats.findOneBy({ hall, number })) return false;
  await seats.insert({ hall, number });
  return true;
}
