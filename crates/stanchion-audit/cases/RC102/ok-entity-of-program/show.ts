import { Column, Entity, PrimaryGeneratedColumn } from "typeorm";

@Entity()
export class Show {
  @PrimaryGeneratedColumn() id: number;
  @Column() places: number;
}
